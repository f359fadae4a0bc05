# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Files of rules: the shipped ones fit, and a wrong one is told with rule and field."""

from __future__ import annotations

import re

import pytest

from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.rule_file import Condition
from thinking_policy.bags.labelling.rule_loading import load_rules, model_in, origins_of
from thinking_policy.policy import load_activities
from thinking_policy.situation import load_configuration

SIGNALS = ('temperature', 'current')
ACTIVITIES = ('trend', 'hazard')
LEVEL = 'when: {level: {signal: current, above: 3}}'


@pytest.fixture
def load(tmp_path):
    def from_text(text):
        file = tmp_path / 'my.yaml'
        file.write_text(text)
        return load_rules(file, SIGNALS, ACTIVITIES)

    return from_text


def rule(text=f'activities: [trend], {LEVEL}', name='hot'):
    return f'rules:\n- {{name: {name}, {text}}}\n'


@pytest.mark.parametrize('name', ['general', 'skab'])
def test_the_shipped_rules_fit_the_shipped_robots(checkout, name):
    ids = tuple(a.id for a in load_activities(checkout / 'config/thinking.yaml'))
    robots = (
        ['skab']
        if name == 'skab'
        else [path.stem for path in (checkout / 'config/robots').glob('*.yaml')]
    )
    for robot in robots:
        config = load_configuration(checkout / f'config/robots/{robot}.yaml')
        rules = load_rules(checkout / f'config/labels/{name}.yaml', config.names, ids)
        assert rules.outcomes


def test_names_of_origins_are_kind_and_name(load):
    text = rule() + 'outcomes:\n- {name: stop, event: estop, before: [hazard], within: 5}\n'
    assert origins_of(load(text)) == ['rule:hot', 'outcome:stop']


@pytest.mark.parametrize(
    ('text', 'complaint'),
    [
        ('5', r'my.yaml: expected rules: or outcomes:, found 5'),
        ('rules: []', r'expected at least one entry under rules: or outcomes:'),
        ('rule: []', r"my.yaml: rule: unknown key; known are .*; did you mean 'rules'"),
        ('rules: 5', r'my.yaml: rules: expected a list, found 5'),
        ('rules: [5]', r'rules\[0\]: expected names and values, found 5'),
        (rule(name='A b'), r"rules\[0\] 'A b'.name: expected lower-case letters"),
        (rule(f'activities: [trend], colour: red, {LEVEL}'), r"'hot'.colour: unknown key"),
        (rule(f'activities: [trnd], {LEVEL}'), r"'hot': activities: no activity 'trnd'.*'trend'"),
        (rule(LEVEL), r"'hot': expected activities, or denies"),
        (rule(f'activities: [trend], denies: [trend], {LEVEL}'), r'stand in activities and in'),
        (rule(f'activities: [trend], denies: all, {LEVEL}'), r'denies: all leaves nothing'),
        (rule(f'activities: [trend], confidence: 2, {LEVEL}'), r"'hot'.confidence: expected .* 2"),
        (rule('activities: [trend]'), r"'hot'.when is missing"),
        (
            rule('activities: [trend], when: {level: {signal: curent, above: 3}}'),
            r"'hot': when: no signal 'curent'; known are temperature, current.*'current'",
        ),
        (
            rule('activities: [trend], when: {all: [{trend: {signal: current, ovr: 3, by: 1}}]}'),
            r"'hot'.when.all\[0\].trend.ovr: unknown key; known are signal, scale, over",
        ),
        (
            rule('activities: [trend], when: {not: {level: {signal: current, above: high}}}'),
            r"'hot'.when.not.level.above: expected a number, found 'high'",
        ),
        (
            rule('activities: [trend], when: {level: {signal: current}}'),
            r'level: expected above, below, both',
        ),
        (
            rule('activities: [trend], when: {level: {signal: current, above: 3, below: 2}}'),
            r'nothing is above 3 and below 2',
        ),
        (
            rule('activities: [trend], when: {level: }'),
            r"'hot'.when: level: expected what it looks at, found nothing",
        ),
        (
            rule('activities: [trend], when: {not: {not: null}}'),
            r"'hot'.when.not: not: expected what it looks at, found nothing",
        ),
        (rule('activities: [trend], when: {all: null}'), r"'hot'.when: all: expected what it"),
        (
            rule('activities: [trend], when: {level: {signal: current, above: yes}}'),
            r"'hot'.when.level.above: expected a number, found True",
        ),
        (
            rule('activities: [trend], when: {event: {code: a, within: 3, times: yes}}'),
            r"'hot'.when.event.times: expected a number, found True",
        ),
        (
            rule('activities: [trend], when: {any: []}'),
            r"'hot'.when.any: expected at least 1 in the list, found \[\]",
        ),
        (rule(f'denies: 5, {LEVEL}'), r"'hot'.denies: expected a list of ids, or 'all', found 5"),
        (rule(f'denies: [5], {LEVEL}'), r"'hot'.denies\[0\]: expected text, found 5"),
        (
            rule(f'activities: [trend], for: .nan, {LEVEL}'),
            r"'hot'.for: expected a number from 0 on, found nan",
        ),
        (
            rule('activities: [trend], when: {event: {code: "", within: 3}}'),
            r"'hot'.when.event.code: expected text, not nothing, found ''",
        ),
        (
            rule('activities: [trend], when: {event: {code: a, within: 3, times: 1.5}}'),
            r"'hot'.when.event.times: expected a whole number, found 1.5",
        ),
        (
            rule('activities: [trend], when: {event: {code: a}, missing: {}}'),
            r"'hot'.when: expected one condition, found event, missing",
        ),
        (
            rule() + '- {name: hot, activities: [trend], ' + LEVEL + '}\n',
            r"rules\[1\] 'hot': another one of rules has that name",
        ),
        ('precedence: [persn]\n' + rule(), r"precedence: expected .* found 'persn'; did you mean"),
        ('precedence: [rule:hut]\n' + rule(), r"precedence: no origin 'rule:hut'.*'rule:hot'"),
        ('precedence: [rule, rule]\n' + rule(), r"precedence: 'rule' stands there twice"),
        (
            'outcomes:\n- {name: a, event: x, within: 2, gap: 3, before: [trend]}',
            r"outcomes\[0\] 'a': expected a gap shorter than within",
        ),
        ('outcomes:\n- {name: a, within: 2, before: [trend]}', r'expected an event .* or when'),
        (
            'outcomes:\n- {name: a, event: x, before: [trend], at: [trend]}',
            r"outcomes\[0\] 'a': expected within: how many seconds",
        ),
        ('outcomes:\n- {name: a, event: x, within: 2}', r'activities under before, at or both'),
        (
            rule('activities: [trend], when: {missing: {signal: current, over: 1.0e+30}}'),
            r"'hot'.when.missing.over: expected a number up to 100000000, found",
        ),
        (rule() + 'rules: []\n', r"'rules' stands there twice"),
        (rule('activities: [trend], when: {level: {signal: current, above: .nan}}'), r'above'),
    ],
)
def test_what_is_wrong_is_named_with_rule_and_field(load, text, complaint):
    with pytest.raises(LabelError, match=complaint):
        load(text)


def test_the_examples_in_the_docs_are_right(checkout, tmp_path):
    ids = tuple(a.id for a in load_activities(checkout / 'config/thinking.yaml'))
    text = (checkout / 'docs/labels.md').read_text()
    examples = re.findall(r'```yaml\n(.*?)```', text, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        (tmp_path / 'example.yaml').write_text(example)
        load_rules(tmp_path / 'example.yaml', ('temperature', 'current', 'motion'), ids)


def test_the_docs_name_every_condition_and_option(checkout):
    text = (checkout / 'docs/labels.md').read_text()
    for name, field in Condition.model_fields.items():
        kind = field.alias or name
        assert f'`{kind}`' in text
        for option, inner in getattr(model_in(field.annotation), 'model_fields', {}).items():
            assert re.search(rf'\b{inner.alias or option}\b', text), f'{kind}: {option}'
