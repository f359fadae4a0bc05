#!/bin/bash
# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
#
# Finds a Python 3.11 or 3.12 that really runs and hands over to setup_environment.py.
# The ROS wheels exist for these two versions only. PYTHON=/path/to/python chooses one.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
probe='import sys, venv, ensurepip, ssl, sqlite3, ctypes
raise SystemExit(sys.version_info[:2] not in ((3, 11), (3, 12)))'
headers='import os, sysconfig
raise SystemExit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'

# A pyenv shim exists for versions that it then refuses to run, so each candidate is tried;
# -I keeps PYTHONPATH of a sourced ROS installation out.
usable() { "$1" -I -c "$probe" >/dev/null 2>&1 && "$1" -I -c "$headers" >/dev/null 2>&1; }

find_python() {
  local candidate
  if [ -n "${PYTHON:-}" ]; then
    usable "$PYTHON" && echo "$PYTHON"
    return
  fi
  for candidate in python3.11 python3.12 python3 /usr/bin/python3.11 /usr/bin/python3.12 \
      "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[12].*/bin/python3; do
    if usable "$candidate"; then
      echo "$candidate"
      return
    fi
  done
}

python=$(find_python)
if [ -z "$python" ] && [ -z "${PYTHON:-}" ] && command -v apt-get >/dev/null; then
  for version in 3.11 3.12; do
    packages="python$version python$version-venv python$version-dev"
    if [ "$(id -u)" = 0 ]; then
      echo "set up: installing $packages" >&2
      { apt-cache show "python$version" >/dev/null 2>&1 || apt-get update -qq; } >&2
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        $packages >/dev/null 2>&1 </dev/null || continue
    elif apt-cache show "python$version" >/dev/null 2>&1; then
      echo "set up: no usable Python 3.11 or 3.12 (with venv and headers). Please run:" >&2
      echo "  sudo apt-get install -y $packages" >&2
      exit 1
    fi
    python=$(find_python)
    [ -z "$python" ] || break
  done
fi
if [ -z "$python" ]; then
  echo "set up: found no Python 3.11 or 3.12 with the modules venv, ensurepip, ssl, sqlite3," >&2
  echo "  ctypes and the C headers (Python.h)${PYTHON:+ at PYTHON=$PYTHON}." >&2
  echo "  Install one, for example with pyenv, and say: make setup PYTHON=/path/to/python3.11" >&2
  exit 1
fi
# Not -I, which would hide the script's own folder; -B leaves no __pycache__ in it.
exec env -u PYTHONPATH -u PYTHONHOME "$python" -sB "$here/setup_environment.py" "$@"
