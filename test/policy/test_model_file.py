# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The outer layer of an ONNX file, read without onnx."""

from __future__ import annotations

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinking_policy.policy import PolicyError
from thinking_policy.policy.model_file import parse_model_file


@pytest.fixture
def data(write_policy):
    return write_policy(opset=17, ir_version=9).read_bytes()


def test_it_says_what_onnx_itself_says(data):
    found, model = parse_model_file(data, 'x'), onnx.load_from_string(data)
    assert found.ir_version == model.ir_version == 9
    assert found.opsets == {o.domain: o.version for o in model.opset_import} == {'': 17}
    assert found.metadata == {p.key: p.value for p in model.metadata_props}


def test_the_hash_is_of_the_graph_and_not_of_the_metadata(data):
    model = onnx.load_from_string(data)
    model.metadata_props[0].value = 'other'
    same = parse_model_file(model.SerializeToString(), 'x')
    assert same.graph_sha256 == parse_model_file(data, 'x').graph_sha256
    model.graph.initializer[0].raw_data = b'\x01' + model.graph.initializer[0].raw_data[1:]
    other = parse_model_file(model.SerializeToString(), 'x')
    assert other.graph_sha256 != same.graph_sha256


def test_the_hash_covers_local_functions(data):
    model = onnx.load_from_string(data)
    model.functions.add().name = 'surprise'
    assert (
        parse_model_file(model.SerializeToString(), 'x').graph_sha256
        != parse_model_file(data, 'x').graph_sha256
    )


def test_any_cut_is_noticed(data):
    whole = parse_model_file(data, 'x')
    for end in range(len(data)):
        try:
            found = parse_model_file(data[:end], 'x')
        except PolicyError:
            continue
        # Cut between two outer fields: something is missing then.
        assert found != whole


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read_but_never_crash(junk):
    try:
        parse_model_file(junk, 'junk')
    except PolicyError as error:
        assert str(error).startswith('junk: ')  # noqa: PT017


@given(st.data())
def test_any_changed_byte_is_refused_or_read_but_never_crashes(shared_bytes, data):
    position = data.draw(st.integers(0, len(shared_bytes) - 1))
    changed = bytearray(shared_bytes)
    changed[position] = data.draw(st.integers(0, 255))
    try:
        parse_model_file(bytes(changed), 'changed')
    except PolicyError as error:
        assert '\n' not in str(error)  # noqa: PT017
