# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Endpoints for robots: which policy to run, and which one they run."""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import Response

from thinking_policy.server.access import RobotToken, State
from thinking_policy.server.problems import RefusedError, refused
from thinking_policy.server.registry import Release
from thinking_policy.server.robots import RobotReport
from thinking_policy.server.tenancy import TenantData
from thinking_policy.server.wire import StatusReport

FILE_TYPE = 'application/octet-stream'
_HEADERS = {
    'ETag': {'description': 'Names version and signature', 'schema': {'type': 'string'}},
    'X-Policy-Version': {'description': "The manifest's hash", 'schema': {'type': 'string'}},
    'X-Policy-Signature': {
        'description': 'Ed25519 over the file, 64 bytes in base64; absent: unsigned',
        'schema': {'type': 'string'},
    },
}

router = APIRouter(prefix='/v1', tags=['policies'])


@router.get(
    '/policy',
    summary='The current policy',
    response_class=Response,
    responses={
        200: {
            'description': 'The file (.onnx)',
            'content': {FILE_TYPE: {'schema': {'type': 'string', 'format': 'binary'}}},
            'headers': _HEADERS,
        },
        304: {'description': 'Still the one that If-None-Match names'},
        **refused(401, 403, 404, 422, 429, 503),
    },
)
def policy(
    token: RobotToken,
    state: State,
    if_none_match: Annotated[
        str, Header(description='The ETag of what the robot has', examples=['"3f2a9c0d1e4b5a67"'])
    ] = '',
) -> Response:
    """Return the policy that this tenant's robots are to run.

    The signature is not checked here: a robot checks it with the public key that it has.
    """
    with state.database.reading() as database:
        policies = TenantData(database, token.tenant).policies
        release = policies.current()
        if release is None:
            raise RefusedError(404, 'no_policy', 'no policy is published')
        headers = {
            'ETag': etag_of(release),
            'X-Policy-Version': release.version,
            'Cache-Control': 'private, no-cache',
            'Vary': 'Authorization',
        }
        if release.signature is not None:
            headers['X-Policy-Signature'] = base64.b64encode(release.signature).decode()
        if _names(if_none_match, etag_of(release)):
            return Response(status_code=304, headers=headers)
        body = policies.body(release.version)
    return Response(body, media_type=FILE_TYPE, headers=headers)


@router.post(
    '/robots/status',
    summary='Which policy a robot runs',
    status_code=204,
    response_class=Response,
    responses=refused(400, 401, 403, 408, 413, 422, 429, 503),
)
def report(token: RobotToken, state: State, status: StatusReport) -> Response:
    """Keep what a robot says, in place of what it said before."""
    if token.robot is not None and token.robot != status.robot:
        raise RefusedError(
            403,
            'robot',
            f'robot: expected {token.robot!r}, which the token is for, found {status.robot!r}',
        )
    kept = RobotReport(
        status.robot, status.policy_version, status.state, status.reason, state.clock_ns()
    )
    with state.database.writing() as database:
        TenantData(database, token.tenant).robots.keep(kept)
    return Response(status_code=204)


def etag_of(release: Release) -> str:
    """Return the name of what a robot gets: the version, and the signature if there is one.

    So a robot that refused an unsigned policy hears of it again when it is signed.
    """
    if release.signature is None:
        return f'"{release.version}"'
    return f'"{release.version}.{hashlib.sha256(release.signature).hexdigest()[:8]}"'


def _names(if_none_match: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix('W/') for tag in if_none_match.split(',')]
    return etag in tags or tags == ['*']
