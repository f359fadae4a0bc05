# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Lets Fast DDS ask for acknowledgements every 2 ms instead of every 3 s.

A bag player in lockstep waits for them at every tick. ROS has no quality of service for it, so
the middleware's own profile file is used, unless the user has one.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NANOSECONDS = 2_000_000
# By the variable that each generation of Fast DDS reads: 2 (Jazzy) and 3 (Kilted, Lyrical).
_PROFILES = {
    'FASTRTPS_DEFAULT_PROFILES_FILE': f"""<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles"><profiles>
  <publisher profile_name="quick_acknowledgements" is_default_profile="true"><times>
    <heartbeatPeriod><sec>0</sec><nanosec>{_NANOSECONDS}</nanosec></heartbeatPeriod>
  </times></publisher>
</profiles></dds>
""",
    'FASTDDS_DEFAULT_PROFILES_FILE': f"""<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <data_writer profile_name="quick_acknowledgements" is_default_profile="true"><times>
    <heartbeat_period><sec>0</sec><nanosec>{_NANOSECONDS}</nanosec></heartbeat_period>
  </times></data_writer>
</profiles></dds>
""",
}


@contextlib.contextmanager
def quick_acknowledgements() -> Iterator[None]:
    """Set the profile for publishers made in this process within the block.

    It must be entered before ROS is initialised.
    """
    with tempfile.TemporaryDirectory(prefix='thinking_policy-') as folder:
        for variable, text in _PROFILES.items():
            if not os.environ.get(variable):
                path = Path(folder, f'{variable.lower()}.xml')
                path.write_text(text, encoding='utf-8')
                os.environ[variable] = str(path)
        yield
