# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Changes to a batch that its labels don't mind."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from thinking_policy.training.networks import random_words
from thinking_policy.training.recipe import MASKS_FULL, Augmentation

_LARGEST = 10.0  # where situations are clipped


def mask_strength(augmentation: Augmentation, progress: float) -> float:
    """Return how much of the masks is in use, 0...1, after a share of the steps."""
    start = augmentation.masks_from
    if start in (0, 1):
        return 1.0 - start
    return min(1.0, max(0.0, (progress - start) / (MASKS_FULL * (1 - start)) + 1e-9))


def augment(
    window: Tensor, valid: Tensor, augmentation: Augmentation, strength: float, random: Generator
) -> tuple[Tensor, Tensor]:
    """Return another version of a batch.

    Args:
        window: float32 [B, T, F], 0 where invalid.
        valid: bool [B, T, F].
        augmentation: How much.
        strength: Share of the masks in use, from `mask_strength`.
        random: Decides everything; how much is drawn from it depends on shapes and on which
            parts of the augmentation are in use.
    """
    changed = _sensed_by_another(window, valid, augmentation, random)
    seen = valid
    if strength > 0:
        seen = _lost(valid, augmentation, strength, random)
    if changed is window and seen is valid:
        return window, valid
    return (changed * seen).clamp_(-_LARGEST, _LARGEST), seen


def _sensed_by_another(
    window: Tensor, valid: Tensor, augmentation: Augmentation, random: Generator
) -> Tensor:
    """Return the window as a sensor of other offset, gain and noise would give it."""
    rows, _, signals = window.shape
    each = (rows, 1, signals)
    if augmentation.gain:
        mean = window.sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
        gain = torch.exp(_either_way(each, augmentation.gain, random))
        window = mean + (window - mean) * gain
    if augmentation.offset:
        window = window + _either_way(each, augmentation.offset, random)
    if augmentation.noise:
        level = torch.rand(each, generator=random) * augmentation.noise
        window = window + torch.randn(window.shape, generator=random) * level
    return window


def _lost(valid: Tensor, augmentation: Augmentation, strength: float, random: Generator) -> Tensor:
    """Return what is still valid where samples, signals and beginnings get lost."""
    rows, length, signals = valid.shape
    if augmentation.drop:
        share = torch.rand((rows, 1, 1), generator=random) * (augmentation.drop * strength)
        valid = valid & ~_hit(valid.shape, share, random)
    if augmentation.missing:
        lacking = torch.rand((rows, 1, 1), generator=random) < augmentation.missing * strength
        gone = torch.rand((rows, 1, signals), generator=random)
        # One signal in such a row always stays, else there is nothing to go by.
        kept = gone.argmax(2, keepdim=True)
        share = torch.rand((rows, 1, 1), generator=random) * 0.4 + 0.1
        lost = (gone < share).scatter(2, kept, False) & lacking
        valid = valid & ~lost
    if augmentation.short:
        begun = torch.rand((rows, 1, 1), generator=random) < augmentation.short * strength
        newest = torch.randint(1, max(2, length), (rows, 1, 1), generator=random)
        before = torch.arange(length).view(1, -1, 1) < length - newest
        valid = valid & ~(before & begun)
    return valid


def _either_way(shape: tuple[int, ...], largest: float, random: Generator) -> Tensor:
    return (torch.rand(shape, generator=random) * 2 - 1) * largest


def _hit(shape: torch.Size, share: Tensor, random: Generator) -> Tensor:
    """Return a bool tensor that is true for a share of its elements."""
    return random_words(shape.numel(), random).view(shape) < share * 2.0**16 - 2.0**15
