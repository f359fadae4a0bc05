# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the outer layer of an ONNX file says, read without the onnx package.

A robot has ONNX Runtime, which shows metadata only after it has accepted the whole model. The
reasons for refusing one must be known before, so the few outer fields are read here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thinking_policy.policy.errors import PolicyError

# Field numbers of ModelProto, OperatorSetIdProto and StringStringEntryProto in onnx.proto.
_IR_VERSION, _GRAPH, _OPSET_IMPORT, _METADATA, _FUNCTION = 1, 7, 8, 14, 25
_MODEL_FIELDS = frozenset((1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26))
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class ModelFile:
    """The outer layer of an ONNX file.

    Attributes:
        ir_version: Version of the file format.
        opsets: Version of each operator set by domain; '' is ONNX's own.
        metadata: Texts that the exporter stored beside the graph.
        graph_sha256: Hash of the serialised graph and its local functions: weights are in it,
            metadata is not.
    """

    ir_version: int
    opsets: Mapping[str, int]
    metadata: Mapping[str, str]
    graph_sha256: str


def parse_model_file(data: bytes, source: str) -> ModelFile:
    """Read the outer layer.

    Args:
        data: The whole file.
        source: File named in errors.

    Raises:
        PolicyError: Empty, not ONNX, truncated or damaged.
    """
    if not data:
        raise PolicyError(f'{source}: the file is empty; expected an ONNX model')
    ir_version, recognised, has_graph = 0, 0, False
    opsets: dict[str, int] = {}
    metadata: dict[str, str] = {}
    digest = hashlib.sha256()
    try:
        for number, wire, value in _fields(data):
            if number not in _MODEL_FIELDS:
                raise ValueError(f'unknown field {number}')
            recognised += 1
            if number == _IR_VERSION and wire == _VARINT:
                ir_version = int.from_bytes(value, 'little')
            elif number in (_GRAPH, _FUNCTION) and wire == _BYTES:
                has_graph = has_graph or number == _GRAPH
                digest.update(value)
            elif number == _OPSET_IMPORT and wire == _BYTES:
                domain, version = _pair(value)
                opsets[domain.decode('utf-8')] = int.from_bytes(version, 'little')
            elif number == _METADATA and wire == _BYTES:
                key, text = _pair(value)
                metadata[key.decode('utf-8')] = text.decode('utf-8')
    except ValueError as error:
        if not recognised:
            raise PolicyError(f'{source}: not an ONNX model ({error})') from error
        raise PolicyError(
            f'{source}: truncated or damaged after {len(data)} bytes ({error})'
        ) from error
    if not has_graph:
        raise PolicyError(
            f'{source}: not an ONNX model, or truncated: it holds no graph ({len(data)} bytes)'
        )
    return ModelFile(ir_version, opsets, metadata, digest.hexdigest())


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield field number, wire type and content; numbers come as little-endian bytes.

    Raises:
        ValueError: The bytes are not a protobuf message.
    """
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            content, position = _varint(data, position)
            yield number, wire, content.to_bytes(10, 'little')
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f'wire type {wire} at byte {position}')
        if position + size > len(data):
            raise ValueError(
                f'{size} bytes announced at byte {position}, {len(data) - position} are there'
            )
        yield number, wire, data[position : position + size]
        position += size


def _pair(data: bytes) -> tuple[bytes, bytes]:
    parts = {number: value for number, _, value in _fields(data)}
    return parts.get(1, b''), parts.get(2, b'')


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if position >= len(data):
            raise ValueError('it ends inside a number')
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
    raise ValueError(f'a number of more than 10 bytes at byte {position}')
