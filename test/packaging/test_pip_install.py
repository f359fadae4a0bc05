# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`pip install .` on a machine without ROS: a real wheel in an environment with nothing else.

The environment holds the package and what its requirements name, linked from the environment
that runs the tests, so that no test needs the network.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

MADE_FROM = ('LICENSE', 'README.md', 'pyproject.toml', 'setup.cfg', 'setup.py', 'package.xml')


@pytest.fixture(scope='session')
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that pip builds; from a copy, since setuptools litters its source."""
    source = tmp_path_factory.mktemp('source')
    for name in MADE_FROM:
        if (checkout / name).exists():
            shutil.copy(checkout / name, source)
    for name in ('thinking_policy', 'config', 'resource'):
        shutil.copytree(
            checkout / name, source / name, ignore=shutil.ignore_patterns('__pycache__')
        )
    subprocess.run(
        [
            sys.executable,
            '-m',
            'pip',
            'wheel',
            '--quiet',
            '--no-deps',
            '--no-build-isolation',
            '--no-index',
            '--wheel-dir',
            source / 'dist',
            source,
        ],
        check=True,
        timeout=120,
    )
    (built,) = (source / 'dist').glob('thinking_policy-*.whl')
    return built


class BareEnvironment:
    """A virtual environment with the wheel and nothing but what it requires."""

    def __init__(self, folder: Path, wheel: Path, extras: tuple[str, ...]) -> None:
        venv.create(folder, symlinks=True)
        self.bin = folder / 'bin'
        subprocess.run(
            [
                sys.executable,
                '-m',
                'pip',
                '--python',
                self.bin / 'python',
                'install',
                '--quiet',
                '--no-deps',
                '--no-index',
                wheel,
            ],
            check=True,
            timeout=120,
        )
        (site_packages,) = folder.glob('lib/python3*/site-packages')
        (metadata,) = importlib.metadata.distributions(
            name='thinking-policy', path=[str(site_packages)]
        )
        for name in closure(metadata, extras):
            link_distribution(name, site_packages)

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / command[0], *command[1:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={'PATH': '/usr/bin:/bin', 'NO_COLOR': '1', 'COLUMNS': '100'},
        )


def closure(distribution: importlib.metadata.Distribution, extras: tuple[str, ...]) -> set[str]:
    """Return the names of all distributions that this one needs, and they need, and so on."""
    found: set[str] = set()
    waiting = [(distribution, extras)]
    while waiting:
        one, wanted = waiting.pop()
        for line in one.requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not any(marker.evaluate({'extra': extra}) for extra in ('', *wanted)):
                continue
            if requirement.name not in found:
                found.add(requirement.name)
                needed = importlib.metadata.distribution(requirement.name)
                waiting.append((needed, tuple(requirement.extras)))
    return found


def link_distribution(name: str, site_packages: Path) -> None:
    """Link what one distribution installed into another environment."""
    distribution = importlib.metadata.distribution(name)
    parts = {file.parts[0] for file in distribution.files or () if file.parts[0] != '..'}
    for part in parts:
        source = Path(str(distribution.locate_file(part)))
        if source.exists() and not (site_packages / part).exists():
            (site_packages / part).symlink_to(source)


@pytest.fixture(scope='session')
def laptop(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    return BareEnvironment(tmp_path_factory.mktemp('laptop'), wheel, ())


@pytest.fixture(scope='session')
def laptop_with_extras(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    return BareEnvironment(tmp_path_factory.mktemp('extras'), wheel, ('bags', 'train'))


def test_the_wheel_holds_every_module_and_the_configuration(checkout, wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    source = checkout / 'thinking_policy'
    modules = {f'thinking_policy/{path.relative_to(source)}' for path in source.rglob('*.py')}
    assert modules - held == set()
    assert 'thinking_policy/py.typed' in held
    shipped = {re.sub(r'.*\.data/data/', '', name) for name in held}
    config = {
        str(path.relative_to(checkout))
        for path in (checkout / 'config').rglob('*.*')
        if path.is_file()
    }
    assert {f'share/thinking_policy/{name}' for name in config} - shipped == set()


def test_without_ros_the_command_line_helps(laptop):
    done = laptop.call('thinking-policy', '--help')
    assert done.returncode == 0, done.stderr
    for command in ('run', 'watch', 'bag', 'policy', 'doctor'):
        assert command in done.stdout


def test_without_ros_a_policy_can_be_looked_at(laptop, checkout):
    policy = checkout / 'config' / 'policy.onnx'
    if not policy.exists():
        pytest.skip('no bundled policy')
    done = laptop.call('thinking-policy', 'policy', 'show', str(policy))
    assert done.returncode == 0, done.stderr
    assert 'trend' in done.stdout


def test_a_missing_extra_is_named_with_its_remedy(laptop, tmp_path):
    done = laptop.call('thinking-policy', 'bag', 'info', str(tmp_path))
    assert done.returncode == 2
    assert '[bags]' in done.stderr
    assert 'Traceback' not in done.stderr


def test_with_the_extras_bags_are_read_and_policies_trained_without_ros(laptop_with_extras):
    done = laptop_with_extras.call('thinking-policy', 'bag', '--help')
    assert done.returncode == 0, done.stderr
    done = laptop_with_extras.call(
        'python', '-c', 'import thinking_policy.bags, thinking_policy.training.fit'
    )
    assert done.returncode == 0, done.stderr
