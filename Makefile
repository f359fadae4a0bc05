# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
#
# For machines without ROS: everything in one virtual environment. `make help` lists.

VENV ?= .venv
EXTRAS ?= all
DISTRO ?= jazzy
ARGS ?=

# What a sourced ROS installation leaves behind would shadow the environment's own ROS.
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONHOME
unexport PYTHONPATH RMW_IMPLEMENTATION ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE

.DEFAULT_GOAL := help
.PHONY: help setup run test lint format policy robot clean

help:  ## list what can be made
	@echo 'make TARGET [ARGS="…"] [PYTHON=/path/to/python3.11] [EXTRAS=bags,train] [VENV=.venv]'
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup:  ## set up the environment in .venv, with all extras (or EXTRAS=bags,train; EXTRAS=none)
	@scripts/setup.sh --venv '$(VENV)' --distro '$(DISTRO)' --extras '$(EXTRAS)'

run: setup  ## watch a simulated robot think; ARGS='--bag PATH' for a bag, ARGS=--help for more
	@'$(VENV)/bin/thinking-policy' run $(ARGS)

test: setup  ## run all tests and linters; ARGS='test/situation -x' for a part
	@'$(VENV)/bin/pytest' $(ARGS)

lint: setup  ## run only the linters
	@'$(VENV)/bin/pytest' -q -m lint test/packaging

format: setup  ## bring the code into the house format
	@'$(VENV)/bin/ruff' check --fix --quiet . ; '$(VENV)/bin/ruff' format .

policy: setup  ## rebuild the bundled config/policy.onnx from its seed
	@'$(VENV)/bin/python' -m thinking_policy.training.build_policy --seed 0 -o config/policy.onnx $(ARGS)

robot:  ## set up .venv-robot as a robot has it: no extras, no torch
	@scripts/setup.sh --venv .venv-robot --distro '$(DISTRO)' --extras none

clean:  ## remove the environments, builds and caches
	rm -rf .venv .venv-robot .venv.lock .venv-robot.lock build install log
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
