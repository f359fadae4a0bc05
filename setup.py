# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""For pip: the part that needs no ROS. Everything it says stands in setup.cfg."""

from setuptools import setup

setup()
