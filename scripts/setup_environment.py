# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Make a virtual environment in which the package runs on a machine without ROS.

The stages, in order: system packages, the virtual environment, ROS wheels, Python packages,
messages and code built by colcon into the environment, links to source files. Each stage
leaves a stamp with a hash of everything that it depends on, so that a second run does only
what is missing or changed, and an interrupted one goes on where it stopped.

Standard library only: this runs before anything is installed. Start it through `setup.sh`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from reporting import SetupError, progress
from requirements import distribution_name, normalise, read_extras, read_requirements
from ros_wheels import BUILD_WHEELS_OF_DISTRO, repair_cmake_targets, ros_wheels
from sources import contents_of, link_sources
from system_packages import install_system_packages

ROOT = Path(__file__).resolve().parent.parent

# colcon-core refuses newer setuptools. A bare `torch` on Linux is a CUDA build of several GB;
# this version was tried as CPU build.
CONSTRAINTS = ('setuptools<80', 'torch==2.13.0')

# Left behind by a sourced ROS installation or a parent process of another environment;
# any of these would mix two installations.
FOREIGN_VARIABLES = """
    AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONHOME PYTHONPATH
    MAKEFLAGS MAKELEVEL MFLAGS ROS_DISTRO ROS_PYTHON_VERSION ROS_VERSION RMW_IMPLEMENTATION
    _ROS_WHEELS_BOOTSTRAP_COMPLETE
""".split()
BUILT_FROM = ('CMakeLists.txt', 'package.xml', 'msg', 'scripts')
# The results of these stages are gone or stale once the first has been done again.
VOIDED_BY = {'venv': ('ros', 'packages', 'build'), 'ros': ('build',)}
LOG_TAIL_LINES = 25


def main() -> int:
    """Bring the environment up to date; return the exit code."""
    arguments = parse_arguments()
    try:
        with only_one_at_a_time(arguments.venv):
            Setup(arguments.venv, arguments.distro, arguments.extras).run()
    except SetupError as error:
        print(f'set up: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('set up: interrupted; the next run goes on from here', file=sys.stderr)
        return 130
    return 0


def parse_arguments() -> argparse.Namespace:
    """Return `venv` (absolute path), `distro` and `extras` (tuple of names)."""
    known = tuple(read_extras())
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--venv', type=Path, default=ROOT / '.venv', help='where it stands')
    parser.add_argument('--distro', choices=tuple(BUILD_WHEELS_OF_DISTRO), default='jazzy')
    parser.add_argument(
        '--extras',
        default='all',
        help=f'comma-separated extras of setup.cfg, or all, or none: {", ".join(known)}',
    )
    arguments = parser.parse_args()
    arguments.venv = arguments.venv.absolute()
    words = tuple(word for word in re.split(r'[,\s]+', arguments.extras.strip()) if word)
    if words == ('all',):
        words = known
    elif words == ('none',):
        words = ()
    unknown = sorted(set(words) - set(known))
    if unknown:
        parser.error(f'no such extra in setup.cfg: {", ".join(unknown)}; known: {known}')
    arguments.extras = words
    return arguments


class Setup:
    """The stages of one environment. Nothing here is kept between runs but the stamps."""

    def __init__(self, venv: Path, distro: str, extras: tuple[str, ...]) -> None:
        self.venv = venv
        self.distro = distro
        self.python = venv / 'bin' / 'python'
        self.state = venv / 'setup'  # stamps, logs and the build folder live inside the venv
        self.wheels = ros_wheels(distro)
        self.requirements = read_requirements(extras)
        version = f'{sys.version_info.major}.{sys.version_info.minor}'
        self.site_packages = venv / 'lib' / f'python{version}' / 'site-packages'

    def run(self) -> None:
        """Do what is missing or changed, in order."""
        interpreter = [sys.version, os.path.realpath(sys.executable), str(self.venv)]
        self.stage('venv', 'virtual environment', interpreter, self.make_venv, self.venv_runs)
        self.stage(
            'ros',
            f'ROS 2 {self.distro.capitalize()} wheels',
            self.wheels,
            self.install_ros,
            lambda: self.has_distributions(self.wheels),
        )
        self.stage(
            'packages',
            'Python packages',
            [*self.requirements, *CONSTRAINTS],
            lambda: self.pip_install('packages', self.requirements),
            lambda: self.has_distributions(self.requirements),
        )
        self.stage(
            'build',
            'messages and code (colcon)',
            contents_of(ROOT, BUILT_FROM),
            self.build,
            lambda: (self.site_packages / 'thinking_policy' / 'msg' / '__init__.py').exists(),
        )
        link_sources(ROOT, self.site_packages, self.venv / 'share' / 'thinking_policy')

    def stage(
        self,
        name: str,
        title: str,
        inputs: object,
        work: Callable[[], None],
        intact: Callable[[], bool],
    ) -> None:
        """Do `work` unless its stamp matches `inputs` and `intact` finds its result."""
        stamp = self.state / f'{name}.stamp'
        digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
        if stamp.exists() and stamp.read_text() == digest and intact():
            return
        if name == 'venv':
            install_system_packages()
        for void in (name, *VOIDED_BY.get(name, ())):
            (self.state / f'{void}.stamp').unlink(missing_ok=True)
        with progress(title):
            work()
        self.state.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest)

    # The stages ----------------------------------------------------------------------------

    def make_venv(self) -> None:
        """Make the environment anew: scripts in it name their interpreter by absolute path."""
        if self.venv.exists():
            if not self.state.is_dir() and any(self.venv.iterdir()):
                raise SetupError(
                    f'{self.venv} was not made by this set-up; move it away or '
                    f'choose another place: make VENV=.venv-ros'
                )
            shutil.rmtree(self.venv)
        self.state.mkdir(parents=True)
        self.call('venv', [sys.executable, '-m', 'venv', str(self.venv)])

    def venv_runs(self) -> bool:
        """Tell whether the environment's interpreter still starts (it may have been removed)."""
        try:
            return subprocess.run([self.python, '-I', '-S', '-c', ''], check=False).returncode == 0
        except OSError:
            return False

    def install_ros(self) -> None:
        """Install the wheels and repair the CMake targets that they export."""
        self.pip_install('ros', self.wheels)
        repair_cmake_targets(self.venv / 'share', self.python)

    def build(self) -> None:
        """Build by colcon into the environment, which is already a ROS prefix."""
        environment = self.environment() | {
            'AMENT_PREFIX_PATH': str(self.venv),
            'CMAKE_PREFIX_PATH': str(self.venv),
        }
        shutil.rmtree(self.state / 'build', ignore_errors=True)
        self.call(
            'build',
            [
                str(self.venv / 'bin' / 'colcon'),
                '--log-base',
                str(self.state / 'colcon'),
                'build',
                '--base-paths',
                str(ROOT),
                '--packages-select',
                'thinking_policy',
                '--merge-install',
                '--symlink-install',
                '--build-base',
                str(self.state / 'build'),
                '--install-base',
                str(self.venv),
                '--event-handlers',
                'console_direct+',
                '--cmake-args',
                f'-DPython3_EXECUTABLE={self.python}',
            ],
            environment,
        )
        self.call(
            'build',
            [
                str(self.python),
                '-c',
                'import rclpy; from thinking_policy.msg import Situation',
            ],
        )

    # What they need ------------------------------------------------------------------------

    def pip_install(self, log: str, requirements: list[str]) -> None:
        """Install into the environment, under this project's constraints."""
        constraints = self.state / 'constraints.txt'
        constraints.write_text('\n'.join(CONSTRAINTS) + '\n')
        self.call(
            log,
            [
                str(self.python),
                '-m',
                'pip',
                'install',
                '--no-input',
                '--progress-bar',
                'off',
                '--disable-pip-version-check',
                '--constraint',
                str(constraints),
                *requirements,
            ],
        )

    def has_distributions(self, requirements: list[str]) -> bool:
        """Tell whether each required distribution has its metadata in the environment."""
        try:
            present = {
                normalise(entry.name.split('-')[0])
                for entry in os.scandir(self.site_packages)
                if entry.name.endswith('.dist-info')
            }
        except OSError:
            return False
        return all(name in present for name in map(distribution_name, requirements))

    def environment(self) -> dict[str, str]:
        """Return the variables for child processes: this environment's and nobody else's."""
        kept = {key: value for key, value in os.environ.items() if key not in FOREIGN_VARIABLES}
        path = f'{self.venv / "bin"}{os.pathsep}{kept.get("PATH", os.defpath)}'
        return kept | {'VIRTUAL_ENV': str(self.venv), 'PATH': path}

    def call(
        self, log: str, command: list[str], environment: dict[str, str] | None = None
    ) -> None:
        """Run one command into a log file; on failure show the log's end and where it is."""
        self.state.mkdir(parents=True, exist_ok=True)
        path = self.state / f'{log}.log'
        with path.open('wb') as output:
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=self.environment() if environment is None else environment,
                    check=False,
                    cwd=self.state,
                ).returncode
            except OSError as error:
                raise SetupError(f'{command[0]} does not start: {error}') from error
        if code:
            tail = path.read_text(errors='replace').splitlines()[-LOG_TAIL_LINES:]
            lines = '\n'.join(f'  | {line}' for line in tail)
            raise SetupError(
                f'{Path(command[0]).name} failed with exit code {code}:\n{lines}\n'
                f'  whole log: {path}'
            )


@contextlib.contextmanager
def only_one_at_a_time(venv: Path) -> Iterator[None]:
    """Hold a lock beside the environment, so that two runs don't build over each other."""
    venv.parent.mkdir(parents=True, exist_ok=True)
    with (venv.parent / f'{venv.name}.lock').open('w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print('set up: waiting for another set-up of this environment', file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == '__main__':
    sys.exit(main())
