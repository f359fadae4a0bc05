# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Lets Fast DDS ask for acknowledgements every 2 ms instead of every 3 s.

A bag player in lockstep waits for them at every tick. ROS has no quality of service for it, so
the middleware's own profile file is used, unless the user has one.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NANOSECONDS = 2_000_000
_FAST_DDS_2 = f"""<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"><profiles>
  <publisher profile_name="quick_acknowledgements" is_default_profile="true"><times>
    <heartbeatPeriod><sec>0</sec><nanosec>{_NANOSECONDS}</nanosec></heartbeatPeriod>
  </times></publisher>
</profiles></dds>
"""
_FAST_DDS_3 = f"""<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <data_writer profile_name="quick_acknowledgements" is_default_profile="true"><times>
    <heartbeat_period><sec>0</sec><nanosec>{_NANOSECONDS}</nanosec></heartbeat_period>
  </times></data_writer>
</profiles></dds>
"""
_VARIABLES = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')
_LAST_RCLPY_ON_FAST_DDS_2 = 7  # Jazzy's


@contextlib.contextmanager
def quick_acknowledgements() -> Iterator[None]:
    """Set the profile for publishers made in this process within the block.

    It must be entered before ROS is initialised.
    """
    if any(os.environ.get(name) for name in _VARIABLES):
        yield
        return
    old = _rclpy_generation() <= _LAST_RCLPY_ON_FAST_DDS_2
    with tempfile.TemporaryDirectory(prefix='thinking_policy-') as folder:
        path = Path(folder, 'profiles.xml')
        path.write_text(_FAST_DDS_2 if old else _FAST_DDS_3, encoding='utf-8')
        # Each generation reads another variable and complains about the other's file.
        os.environ[_VARIABLES[0] if old else _VARIABLES[1]] = str(path)
        yield


def _rclpy_generation() -> int:
    try:
        return int(importlib.metadata.version('rclpy').partition('.')[0])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return _LAST_RCLPY_ON_FAST_DDS_2 + 1
