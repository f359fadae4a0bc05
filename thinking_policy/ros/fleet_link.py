# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What goes on between a configured experience node and its server; threads of their own."""

from __future__ import annotations

import os
from pathlib import Path

from rclpy.node import Node

from thinking_policy.experience.buffer import ExperienceBuffer
from thinking_policy.experience.default_database import default_database
from thinking_policy.experience.downlink import Downlink
from thinking_policy.experience.downlink_options import DownlinkStatus
from thinking_policy.experience.policy_folder import PolicyFolder
from thinking_policy.experience.server_link import ServerLink
from thinking_policy.experience.uplink import Uplink
from thinking_policy.experience.uplink_options import UplinkStatus
from thinking_policy.ros.experience_options import ServerSettings
from thinking_policy.ros.policy_swap import PolicySwap

LAST_ANSWER_S = 0.4  # of a request that is under way at the end; it is repeated otherwise


class FleetLink:
    """Sends what the buffer holds, and fetches policies, as far as either is wanted.

    Made and closed in the executor's thread; never waited for otherwise.
    """

    def __init__(
        self, node: Node, settings: ServerSettings, robot: str, buffer: ExperienceBuffer | None
    ) -> None:
        """Begin.

        Args:
            node: For the clients of the policy node's services.
            settings: With a URL.
            robot: Whose records and whose policy.
            buffer: Holds what is sent; None: nothing is.
        """
        options = settings.link()
        self._uplink: Uplink | None = None
        self._downlink: Downlink | None = None
        self._swap: PolicySwap | None = None
        if options.shows_token:
            node.get_logger().warning(
                f'server.url: {options.url} shows the token to the network; use https'
            )
        if settings.upload and buffer is not None:
            self._uplink = Uplink(buffer.ask, ServerLink(options), settings.uplink(), robot=robot)
            self._uplink.start()
        if settings.fetch_policies:
            self._swap = PolicySwap(node)
            self._downlink = Downlink(
                ServerLink(options),
                PolicyFolder(policy_folder(settings, node.get_fully_qualified_name())),
                robot,
                lambda path: verify(path, settings.public_key_path),
                self._swap.swap,
                settings.downlink(),
            )
            self._downlink.start()

    def uplink_status(self) -> UplinkStatus | None:
        """Return how sending stands; None: nothing is sent."""
        return None if self._uplink is None else self._uplink.status()

    def downlink_status(self) -> DownlinkStatus | None:
        """Return how fetching stands; None: nothing is fetched."""
        return None if self._downlink is None else self._downlink.status()

    def close(self) -> None:
        """End both; what is under way is done again the next time."""
        if self._swap is not None:
            self._swap.stop()
        if self._downlink is not None:
            self._downlink.close(LAST_ANSWER_S)
        if self._uplink is not None:
            self._uplink.close(LAST_ANSWER_S)
        if self._swap is not None:
            self._swap.close()


def policy_folder(settings: ServerSettings, node_name: str) -> Path:
    """Return where fetched policies are kept: beside the experiences unless it is said."""
    if settings.policy_folder:
        return Path(settings.policy_folder).expanduser()
    return default_database(os.environ, node_name).with_suffix('.policies')


def verify(path: Path, public_key: str) -> None:
    """Check the signature beside a policy, where a key is given.

    Raises:
        ThinkingPolicyError: There is none, or it doesn't fit.
    """
    if public_key:
        # it brings ONNX Runtime along, which is for the policy node alone otherwise
        from thinking_policy.policy import verify_file

        verify_file(path, Path(public_key).expanduser())
