# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The policy as the node runs it: loaded by check, thresholds in force, how long it takes."""

from __future__ import annotations

import collections
import math
from pathlib import Path
from typing import Any

from thinking_policy.policy import Inference, PolicyRuntime, Thinker, baseline_of
from thinking_policy.policy.thinker import Thresholds, alike
from thinking_policy.ros.node_options import NodeOptions
from thinking_policy.shipped import config_folder
from thinking_policy.situation import Situation, SituationConfig

TIMES_KEPT = 600  # ticks whose inference time the percentiles are over


class RunningPolicy:
    """One loaded policy. Replacing it is making another one; this one isn't touched by that."""

    def __init__(self, options: NodeOptions, config: SituationConfig) -> None:
        """Read, check and try the policy that the options name.

        Raises:
            PolicyError: One line with the file and the reason.
        """
        self.runtime = PolicyRuntime.load(
            policy_path(options),
            config=config,
            public_key=Path(options.public_key_path) if options.public_key_path else None,
            baseline=baseline_of(config),
        )
        self.config = config
        self.activities = self.runtime.manifest.activities
        self.remarks = alike(self.runtime.warnings)
        self.inferences = 0
        self._times: collections.deque[float] = collections.deque(maxlen=TIMES_KEPT)
        self._thinker = Thinker(self.runtime, config.window_length, options.minimum_hold_s)
        self.ids = self._thinker.ids

    @property
    def version(self) -> str:
        """Hash of the manifest."""
        return self.runtime.version

    def own_thresholds(self) -> dict[str, tuple[float, float]]:
        """Return on- and off-threshold per activity id, as the manifest has them."""
        return {a.id: (a.threshold, a.threshold_off) for a in self.activities}

    def set_thresholds(self, thresholds: Thresholds, minimum_hold_s: float) -> None:
        """Let other thresholds and another hold be in force from the next tick on."""
        self._thinker.set_thresholds(thresholds, minimum_hold_s)

    def set_baseline(self, config: SituationConfig) -> None:
        """Let what is normal be what a configuration with the same signals says."""
        self.runtime.baseline = baseline_of(config)
        self.config = config

    def think(self, situation: Situation) -> tuple[Inference, Any]:
        """Return what the policy says and what is active after it, bool [G].

        The novelty is held for the length of a window.

        Raises:
            PolicyError: The inference failed.
        """
        inference, active = self._thinker.think(situation)
        self._times.append(inference.inference_time_s)
        self.inferences += 1
        return inference, active

    def times_ms(self) -> tuple[float, float]:
        """Return p50 and p99 of the last inferences in milliseconds; NaN before the first."""
        if not self._times:
            return math.nan, math.nan
        ordered = sorted(self._times)
        last = len(ordered) - 1
        return ordered[round(0.5 * last)] * 1e3, ordered[round(0.99 * last)] * 1e3


def policy_path(options: NodeOptions) -> Path:
    """Return the policy file that the options name; the bundled one where they name none."""
    if options.policy_path:
        return Path(options.policy_path).expanduser()
    return config_folder() / 'policy.onnx'
