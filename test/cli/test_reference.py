# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/topics.md against the code that they are made from."""

import importlib.util
import re

import pytest

pytest.importorskip('rclpy')


@pytest.fixture
def reference(checkout):
    spec = importlib.util.spec_from_file_location(
        'make_reference', checkout / 'docs' / 'make_reference.py'
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date(reference):
    page = reference.PAGE.read_text(encoding='utf-8')
    assert reference.fill(page) == page, 'run: .venv/bin/python docs/make_reference.py'


def test_every_message_and_every_group_of_parameters_is_in_the_reference(reference):
    page = reference.PAGE.read_text(encoding='utf-8')
    found = set(re.findall(r'<!-- ((?:parameters|message)-\w+) -->', page))
    assert found == set(reference.SECTIONS) | {
        f'message-{path.stem}' for path in reference.MESSAGES.glob('*.msg')
    }


def test_a_parameter_carries_default_range_and_help(reference):
    table = reference.parameter_table('', reference.NodeOptions)
    (line,) = [line for line in table.splitlines() if '`minimum_hold_s`' in line]
    assert line.startswith('| `minimum_hold_s` | double | `2.0` | 0 … 3600 | ')
    assert 'may change while active' in line


def test_every_shipped_robot_is_in_the_docs(checkout):
    page = (checkout / 'docs' / 'robots.md').read_text(encoding='utf-8')
    for path in (checkout / 'config' / 'robots').glob('*.yaml'):
        assert f'../config/robots/{path.name}' in page


def test_links_of_the_docs_lead_somewhere(checkout):
    for page in (checkout / 'README.md', *(checkout / 'docs').glob('*.md')):
        for target in re.findall(r'\]\(([^)#]+)[^)]*\)', page.read_text(encoding='utf-8')):
            assert '://' in target or (page.parent / target).exists(), f'{page.name}: {target}'
