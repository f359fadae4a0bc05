# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire beside the records themselves, as models for the API page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LINES_TYPE = 'application/x-ndjson'

RejectionCode = Literal['invalid', 'schema', 'conflict', 'robot', 'too_large']
Plain = Annotated[str, Field(max_length=256)]


class Problem(BaseModel):
    """Why a whole request was refused."""

    model_config = ConfigDict(
        json_schema_extra={
            'examples': [{'error': 'token', 'message': 'the token is unknown or was revoked'}]
        }
    )

    error: str = Field(description='A code for programs')
    message: str = Field(description='One line for people')


class Rejection(BaseModel):
    """Why one line was not taken; sending it again is of no use."""

    line: int = Field(ge=1, description='Its number in the request, from 1')
    id: str | None = Field(description='Of the record, where it could be read')
    revision: int | None = Field(description='Of the record; 0: the experience itself')
    code: RejectionCode = Field(
        description='invalid: not a record; schema: of a version this server does not know; '
        'conflict: another record of that id and revision is there; robot: not the robot of '
        'the token; too_large: see the limit of a record'
    )
    reason: str


class UploadAnswer(BaseModel):
    """What became of the lines; accepted and known ones are on the server's disk."""

    model_config = ConfigDict(
        json_schema_extra={
            'examples': [
                {
                    'accepted': 2,
                    'known': 1,
                    'rejected': [
                        {
                            'line': 3,
                            'id': '0197a3f0-5b8c-7d3e-9f10-2b6f0c1d2e3f',
                            'revision': 0,
                            'code': 'schema',
                            'reason': 'expected schema_version 1, found 2',
                        }
                    ],
                }
            ]
        }
    )

    accepted: int = Field(ge=0, description='Stored by this request')
    known: int = Field(ge=0, description='Stored before, the same')
    rejected: list[Rejection]


class StatusReport(BaseModel):
    """Which policy a robot runs."""

    model_config = ConfigDict(
        extra='forbid',
        json_schema_extra={
            'examples': [
                {
                    'robot': 'turtlebot-7',
                    'policy_version': '3f2a9c0d1e4b5a67',
                    'state': 'running',
                    'reason': '',
                }
            ]
        },
    )

    robot: Annotated[str, Field(min_length=1, max_length=256)]
    policy_version: Plain = Field(description="The manifest's hash")
    state: Literal['running', 'refused']
    reason: Annotated[str, Field(max_length=2000)] = Field(
        default='', description='Why it was refused'
    )


class Health(BaseModel):
    """The server takes requests and its database takes data."""

    status: Literal['ok']
    version: str = Field(description='Of the package')
