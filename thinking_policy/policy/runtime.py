# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""M_θ(s) on the robot: one situation in, one probability per activity out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from thinking_policy.policy.artifact import Artifact, read_artifact
from thinking_policy.policy.compatibility import (
    check_configuration,
    check_layout,
    check_session,
    open_session,
)
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.manifest import Manifest
from thinking_policy.policy.novelty import Baseline, default_baseline, novelty_from_sums
from thinking_policy.policy.packing import PROBABILITY, Packer
from thinking_policy.situation.configuration import SituationConfig
from thinking_policy.situation.situation import Situation

_DRY_RUN_SEED = 0
_DRY_RUNS = 8


class Inference(NamedTuple):
    """What the policy says of one situation.

    Attributes:
        probability: float32 [G] in manifest order, 0...1, never NaN; the caller's own.
        novelty: Distance from this robot's baseline, 0: normal; never NaN.
        inference_time_s: Packing, network and novelty; seconds.
    """

    probability: NDArray[np.float32]
    novelty: float
    inference_time_s: float


class PolicyRuntime:
    """A loaded and tried policy. Not thread-safe: one thread infers.

    Made by `load`; replacing a running policy is assigning another `PolicyRuntime`, so that one
    that fails to load leaves the running one in place.

    Attributes:
        path: Where it was read.
        manifest: What the file says about itself.
        version: Hash of the manifest.
        warnings: Differences from the configuration that don't forbid using it.
        not_finite: How many inferences gave a number that was no probability; it was replaced
            by 0 (NaN) or the nearer end of 0...1.
    """

    def __init__(
        self,
        artifact: Artifact,
        session: onnxruntime.InferenceSession,
        baseline: Baseline,
        warnings: tuple[str, ...] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Bind buffers; use `load`, which checks before."""
        manifest = artifact.manifest
        self.path: Path = artifact.path
        self.manifest: Manifest = manifest
        self.version: str = manifest.version
        self.warnings = warnings
        self.not_finite = 0
        self.baseline = baseline
        self._names = tuple(signal.name for signal in manifest.signals)
        # Situations of one tracker share one tuple of names: compared by identity first.
        self._checked: tuple[str, ...] = self._names
        self._length = manifest.window_length
        self._shape = (self._length, len(self._names))
        self._clock = clock
        self._session = session
        self._packer = Packer(
            self._length, len(self._names), manifest.recent_events, manifest.event_vocabulary
        )
        self._output = np.zeros((1, len(manifest.activities)), np.float32)
        self._sums = np.zeros((2, len(self._names)), np.float32)
        self._binding = session.io_binding()
        # Bound by address once: the session reads and writes these arrays at every run.
        for name, buffer in self._packer.buffers.items():
            self._binding.bind_input(
                name, 'cpu', 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data
            )
        self._binding.bind_output(
            PROBABILITY, 'cpu', 0, np.float32, self._output.shape, self._output.ctypes.data
        )

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        config: SituationConfig | None = None,
        public_key: Path | None = None,
        baseline: Baseline | None = None,
    ) -> PolicyRuntime:
        """Read, check and try a policy file.

        The bytes are read once: what was verified and checked is what is loaded, even if the
        file is replaced meanwhile.

        Args:
            path: The policy file.
            config: What the robot perceives; None: not compared.
            public_key: PEM file; None: signatures are not looked at.
            baseline: What is normal for this robot; None: its nominal ranges.

        Raises:
            PolicyError: One line with the file and the reason.
        """
        artifact = read_artifact(path, public_key)
        warnings = [] if config is None else check_configuration(artifact, config)
        check_layout(artifact)
        session = open_session(artifact)
        check_session(artifact, session)
        names = tuple(signal.name for signal in artifact.manifest.signals)
        if baseline is None:
            baseline = default_baseline(names)
        elif baseline.signals != names:
            raise PolicyError(
                f'{path}: the baseline is for signals {list(baseline.signals)}, the policy has '
                f'{list(names)}'
            )
        runtime = cls(artifact, session, baseline, tuple(warnings))
        runtime._dry_run()
        return runtime

    def infer(self, situation: Situation) -> Inference:
        """Return what the policy says of a situation.

        Raises:
            PolicyError: Other signals or another window length than the policy has, or ONNX
                Runtime failed.
        """
        start = self._clock()
        if situation.signals is not self._checked:
            self._check_signals(situation)
        if situation.window.shape != self._shape:
            raise PolicyError(
                f'{self.path}: expected a window {self._shape}, found {situation.window.shape}'
            )
        self._packer.fill(situation)
        self._run()
        probability = self._output[0].copy()
        if not _are_probabilities(probability.tolist()):
            self.not_finite += 1
            probability = np.clip(np.nan_to_num(probability, nan=0.0), 0.0, 1.0)
        np.add.reduce(self._packer.halves, axis=1, out=self._sums)
        sums, counts = self._sums.tolist()
        novelty = novelty_from_sums(sums, counts, self.baseline, self._length)
        return Inference(probability, novelty, self._clock() - start)

    def _run(self) -> None:
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:  # its exceptions have no common base but this one
            reason = ' '.join(str(error).split())
            raise PolicyError(f'{self.path}: inference failed: {reason}') from error

    def _check_signals(self, situation: Situation) -> None:
        if situation.signals != self._names:
            raise PolicyError(
                f'{self.path}: the policy has signals {list(self._names)}, the situation has '
                f'{list(situation.signals)}'
            )
        self._checked = situation.signals

    def _dry_run(self) -> None:
        """Run on nothing, on the middle of all ranges and on noise.

        Raises:
            PolicyError: A result is no probability.
        """
        random = np.random.default_rng(_DRY_RUN_SEED)
        window, valid = self._packer.halves
        for trial in range(_DRY_RUNS):
            self._packer.clear()
            if trial == 1:
                window.fill(0.5)
                valid.fill(1.0)
            elif trial > 1:
                valid[:] = random.random(self._shape) < 0.7
                window[:] = random.uniform(-1.0, 2.0, self._shape) * valid
                self._packer.fill_random_events(random)
            self._run()
            found = self._output[0].tolist()
            if not _are_probabilities(found):
                raise PolicyError(
                    f'{self.path}: the dry run gave {[round(v, 4) for v in found]}; expected '
                    f'probabilities in 0...1'
                )


def _are_probabilities(values: list[float]) -> bool:
    # The sum finds NaN, which min and max may pass over.
    return math.isfinite(sum(values)) and min(values) >= 0.0 and max(values) <= 1.0
