# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What `doctor` looks at beside ROS: interpreter, configuration, policy, extras."""

from __future__ import annotations

import sys
from pathlib import Path

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.finding import FAIL, NOTE, OK, Finding, one_line, version
from thinking_policy.cli.remedies import DISTRIBUTION_OF, EXTRA_OF, extra_remedy
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.cli.robot_sections import unread_names
from thinking_policy.shipped import config_folder
from thinking_policy.situation import SituationConfig, load_configuration


def check_python() -> list[Finding]:
    """Return the interpreter that everything below holds for."""
    version = '.'.join(map(str, sys.version_info[:3]))
    return [Finding('python', OK, f'{version} at {sys.executable}')]


def check_configuration(name: str, namespace: str) -> tuple[SituationConfig | None, list[Finding]]:
    """Return the configuration, if it can be read, and how its signals stand.

    Args:
        name: As `--config` takes it.
        namespace: Of the node that shall read it.
    """
    try:
        path = find_configuration(name)
        config = load_configuration(path, namespace)
    except ThinkingPolicyError as error:
        return None, [
            Finding(
                'configuration',
                FAIL,
                one_line(error),
                'correct the file, or see docs/robots.md for how to write one',
            )
        ]
    without = [signal.name for signal in config.signals if not signal.topic]
    findings = [Finding('configuration', OK, f'{path}: {len(config.signals)} signals')]
    if without:
        findings.append(
            Finding(
                'configuration',
                NOTE,
                f'no topic, so never heard: {", ".join(without)}',
                'give `topic`, `type` and `field` if the robot has such a signal',
            )
        )
    findings += [
        Finding('configuration', NOTE, line, 'correct or remove it; policy.yaml explains each')
        for line in unread_names(path, namespace)
    ]
    return config, findings


def check_policy(path: Path | None, config: SituationConfig | None) -> list[Finding]:
    """Return whether the policy file, by default the bundled one, loads and fits the signals."""
    try:
        path = path or config_folder() / 'policy.onnx'
        from thinking_policy.policy.runtime import PolicyRuntime

        runtime = PolicyRuntime.load(path, config=config, public_key=None)
    except ImportError as error:
        root = (error.name or 'onnxruntime').partition('.')[0]
        return [
            Finding('policy', FAIL, f'{root} cannot be imported: {error}', f'pip install {root}')
        ]
    except ThinkingPolicyError as error:
        return [
            Finding(
                'policy',
                FAIL,
                one_line(error),
                'take a policy trained for these signals, or make signal_names those of '
                f'the policy: thinking-policy policy show {path or "policy.onnx"}',
            )
        ]
    size_kb = path.stat().st_size / 1e3
    return [
        Finding(
            'policy',
            OK,
            f'{path}: version {runtime.manifest.version[:8]}, '
            f'{size_kb:.0f} kB, fits the configuration',
        ),
        *(Finding('policy', NOTE, warning) for warning in runtime.warnings),
    ]


def check_extras() -> list[Finding]:
    """Return which optional parts are installed; none of them is needed on a robot."""
    findings = []
    for extra in dict.fromkeys(EXTRA_OF.values()):
        versions = {
            module: version(DISTRIBUTION_OF.get(module, module))
            for module, of in EXTRA_OF.items()
            if of == extra
        }
        missing = [module for module, version in versions.items() if not version]
        if missing:
            findings.append(
                Finding(
                    f'extra {extra}',
                    NOTE,
                    f'without {", ".join(missing)}; a robot needs none of it',
                    extra_remedy(extra),
                )
            )
        else:
            found = ', '.join(f'{module} {version}' for module, version in versions.items())
            findings.append(Finding(f'extra {extra}', OK, found))
    return findings
