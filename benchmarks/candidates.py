# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Networks that could be a robot's policy. All read the same: window · valid, then valid.

The centred perceptron is the one that ships, `RobotPolicy`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from thinking_policy.training.networks import RobotPolicy

Make = Callable[[int, int, int], nn.Module]  # T, F, G


class Perceptron(nn.Module):
    """Two hidden layers over the input as it comes."""

    def __init__(self, length: int, signals: int, activities: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2 * length * signals, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, activities),
        )

    def forward(self, signals: Tensor) -> Tensor:
        return self.layers(signals)


class OneLayer(nn.Module):
    """One hidden layer: a step fewer."""

    def __init__(self, length: int, signals: int, activities: int, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2 * length * signals, width), nn.ReLU(), nn.Linear(width, activities)
        )

    def forward(self, signals: Tensor) -> Tensor:
        return self.layers(signals)


class Samples(nn.Module):
    """What the candidates below share: the input as T samples of 2·F channels."""

    def __init__(self, length: int, signals: int) -> None:
        super().__init__()
        self._shape = (2, length, signals)
        self.channels = 2 * signals

    def tokens(self, signals: Tensor) -> Tensor:
        """Return [B, T, 2·F]."""
        return torch.cat(signals.reshape(-1, *self._shape).unbind(1), 2)


class TemporalConvolution(Samples):
    """Two convolutions over time, each of three samples, then all that they found."""

    def __init__(self, length: int, signals: int, activities: int, width: int) -> None:
        super().__init__(length, signals)
        self.first = nn.Conv1d(self.channels, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, padding=1)
        self.last = nn.Linear(length * width, activities)

    def forward(self, signals: Tensor) -> Tensor:
        found = torch.relu(self.first(self.tokens(signals).transpose(1, 2)))
        return self.last(torch.relu(self.second(found)).flatten(1))


class OneAttention(Samples):
    """One layer of attention: a learned question to the samples, then a perceptron."""

    def __init__(self, length: int, signals: int, activities: int, width: int) -> None:
        super().__init__(length, signals)
        self.embed = nn.Linear(self.channels, width)
        self.position = nn.Parameter(0.1 * torch.randn(1, length, width))
        self.query_key = nn.Linear(width, 2 * width)
        self.value = nn.Linear(width, width)
        self.hidden = nn.Linear(length * width, width)
        self.last = nn.Linear(width, activities)

    def forward(self, signals: Tensor) -> Tensor:
        tokens = torch.relu(self.embed(self.tokens(signals)) + self.position)
        query, key = self.query_key(tokens).chunk(2, 2)
        share = torch.softmax(query @ key.transpose(1, 2) * query.shape[2] ** -0.5, 2)
        mixed = tokens + share @ self.value(tokens)
        return self.last(torch.relu(self.hidden(mixed.flatten(1))))


class Recurrent(Samples):
    """A GRU over the samples; its last state decides."""

    def __init__(self, length: int, signals: int, activities: int, width: int) -> None:
        super().__init__(length, signals)
        self.memory = nn.GRU(self.channels, width, batch_first=True)
        self.last = nn.Linear(width, activities)

    def forward(self, signals: Tensor) -> Tensor:
        return self.last(self.memory(self.tokens(signals))[1][0])


class SharedFilters(nn.Module):
    """Each signal goes through the same filters over time; a perceptron puts them together."""

    def __init__(
        self, length: int, signals: int, activities: int, width: int, filters: int = 12
    ) -> None:
        super().__init__()
        self._shape = (2, length, signals)
        self.filters = nn.Linear(2 * length, filters)
        self.hidden = nn.Linear(filters * signals, width)
        self.last = nn.Linear(width, activities)

    def forward(self, signals: Tensor) -> Tensor:
        series = signals.reshape(-1, *self._shape).permute(0, 3, 1, 2).flatten(2)
        found = torch.relu(self.filters(series)).flatten(1)
        return self.last(torch.relu(self.hidden(found)))


def candidates() -> dict[str, Make]:
    """Return by name what makes an untrained network of T, F and G."""

    def sized(kind: Callable[..., nn.Module], width: int) -> Make:
        return lambda length, signals, activities: kind(length, signals, activities, width)

    perceptrons = {
        f'perceptron {width}-{width}': sized(Perceptron, width)
        for width in (16, 32, 48, 64, 96, 128)
    }
    centred = {
        f'centred perceptron {width}-{width}': sized(RobotPolicy, width) for width in (32, 48, 64)
    }
    return {
        **perceptrons,
        **centred,
        'one hidden layer, 96': sized(OneLayer, 96),
        'shared filters, 64': sized(SharedFilters, 64),
        'temporal convolution, 32': sized(TemporalConvolution, 32),
        'one attention, 32': sized(OneAttention, 32),
        'GRU, 48': sized(Recurrent, 48),
    }
