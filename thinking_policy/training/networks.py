# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The networks: the paper's reference transformer and the small one that robots run.

Both take packed tensors (`policy.packing`) and give logits; `Probabilities` closes them with the
sigmoid for export.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

LARGEST_LENGTH = 100


class ReferencePolicy(nn.Module):
    """Transformer encoder: 4 layers, width 192, 6 heads, feed-forward 768, a CLS token.

    1,839,560 weights with 7 signals and 8 activities. Samples in which no signal is valid are
    masked out of the attention.
    """

    def __init__(self, length: int, signals: int, activities: int, dropout: float = 0.1) -> None:
        """Make an untrained network.

        Args:
            length: T, at most `LARGEST_LENGTH`.
            signals: F.
            activities: G.
            dropout: Share of activations dropped while training.
        """
        super().__init__()
        width = 192
        self._shape = (length, signals)
        self.embed = nn.Linear(signals, width)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.empty(1, LARGEST_LENGTH + 1, width).normal_(std=0.02))
        layer = nn.TransformerEncoderLayer(
            width, nhead=6, dim_feedforward=768, dropout=dropout, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=4, enable_nested_tensor=False)
        self.head = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, activities)
        )

    def forward(self, signals: Tensor) -> Tensor:
        """Return logits [B, G] of packed signals [B, 2·T·F]."""
        length, count = self._shape
        window, valid = signals.reshape(-1, 2, length, count).unbind(1)
        tokens = torch.cat((self.cls.expand(window.shape[0], -1, -1), self.embed(window)), 1)
        tokens = tokens + self.position[:, : length + 1]
        unseen = valid.sum(2) == 0
        padding = torch.cat((torch.zeros_like(unseen[:, :1]), unseen), 1)
        encoded = self.encoder(tokens, src_key_padding_mask=padding)
        logits: Tensor = self.head(encoded[:, 0])
        return logits


class RobotPolicy(nn.Module):
    """A perceptron over all samples and their validity, with few and fat steps.

    On a robot each graph node costs about a microsecond, however small it is: two hidden layers
    of `width` are faster than any convolution or attention over ten samples. Events, if the
    vocabulary has any, are summed into the first hidden layer: what has just happened by code and
    recency, what once happened by recency and count.
    """

    # An event of this age counts half as much as one of now; seconds.
    RECENT_S = 10.0
    REMEMBERED_S = 600.0

    def __init__(
        self, length: int, signals: int, activities: int, width: int = 64, vocabulary: int = 0
    ) -> None:
        """Make an untrained network.

        Args:
            length: T.
            signals: F.
            activities: G.
            width: Units of each hidden layer.
            vocabulary: V, event codes; 0: none, and no inputs for them.
        """
        super().__init__()
        self.first = nn.Linear(2 * length * signals, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, activities)
        if vocabulary:
            self.recent = nn.Embedding(vocabulary + 1, width)
            self.remembered = nn.Linear(2 * vocabulary, width, bias=False)

    def forward(
        self,
        signals: Tensor,
        event_code: Tensor | None = None,
        event_age: Tensor | None = None,
        code_age: Tensor | None = None,
        code_count: Tensor | None = None,
    ) -> Tensor:
        """Return logits [B, G]; inputs as `policy.packing` has them."""
        hidden = self.first(signals)
        if event_code is not None and event_age is not None:
            freshness = _freshness(event_age, self.RECENT_S)
            hidden = hidden + (self.recent(event_code) * freshness.unsqueeze(2)).sum(1)
        if code_age is not None and code_count is not None:
            memory = torch.cat(
                (_freshness(code_age, self.REMEMBERED_S), torch.log1p(code_count)), 1
            )
            hidden = hidden + self.remembered(memory)
        hidden = torch.relu(self.second(torch.relu(hidden)))
        logits: Tensor = self.last(hidden)
        return logits


class Probabilities(nn.Module):
    """A network closed with the sigmoid: what is exported."""

    def __init__(self, network: nn.Module) -> None:
        """Wrap a network that gives logits."""
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return probabilities [B, G]."""
        return torch.sigmoid(self.network(*inputs))


def count_parameters(network: nn.Module) -> int:
    """Return how many weights a network has."""
    return sum(parameter.numel() for parameter in network.parameters())


def _freshness(age: Tensor, half_s: float) -> Tensor:
    """Return 1 for now, 1/2 at `half_s`, 0 for never (a negative age)."""
    return (age >= 0).to(age.dtype) * half_s / (half_s + age.clamp(min=0.0))
