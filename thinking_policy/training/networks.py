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
_NEARLY_NONE = 1e-6  # of a sample


class ReferencePolicy(nn.Module):
    """Transformer encoder: 4 layers, width 192, 6 heads, feed-forward 768, a CLS token.

    1,839,560 weights with 7 signals and 8 activities. Layers normalise before attention and
    feed-forward, and the head normalises once more: so it learns in few steps. Samples in which
    no signal is valid are masked out of the attention. The last layer is computed for the CLS
    token only, the one that the head reads.
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
        self.layers = nn.ModuleList(EncoderLayer(width, 6, 768, dropout) for _ in range(4))
        self.head = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, activities)
        )

    def forward(self, signals: Tensor) -> Tensor:
        """Return logits [B, G] of packed signals [B, 2·T·F]."""
        length, count = self._shape
        window, valid = signals.reshape(-1, 2, length, count).unbind(1)
        tokens = torch.cat((self.cls.expand(window.shape[0], -1, -1), self.embed(window)), 1)
        tokens = tokens + self.position[:, : length + 1]
        unseen = (valid.sum(2) == 0).to(tokens.dtype)
        # Added to the attention's scores: far below what any softmax lets through.
        ignored = torch.cat((torch.zeros_like(unseen[:, :1]), unseen), 1)[:, None, None] * -1e9
        for layer in self.layers[:-1]:
            tokens = layer(tokens, tokens, ignored)
        summary = self.layers[-1](tokens[:, :1], tokens, ignored)
        logits: Tensor = self.head(summary[:, 0])
        return logits


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each normalised before and added to its input."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        """Make an untrained layer."""
        super().__init__()
        self._heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.before_hidden = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, hidden)
        self.back = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, asking: Tensor, tokens: Tensor, ignored: Tensor) -> Tensor:
        """Return the asking tokens [B, Q, W] after looking at all tokens [B, K, W].

        Args:
            asking: The first Q of the tokens.
            tokens: All.
            ignored: [B, 1, 1, K], 0, or -1e9 for a token that nobody may look at.
        """
        drop = self.dropout
        normal = self.before_attention(tokens)
        query = self._split(self.query(normal[:, : asking.shape[1]]))
        key, value = (self._split(part) for part in self.key_value(normal).chunk(2, 2))
        scores = query @ key.transpose(2, 3) * (query.shape[3] ** -0.5) + ignored
        seen = (drop(torch.softmax(scores, 3)) @ value).transpose(1, 2).flatten(2)
        asking = asking + drop(self.out(seen))
        hidden = drop(torch.relu(self.hidden(self.before_hidden(asking))))
        answered: Tensor = asking + drop(self.back(hidden))
        return answered

    def _split(self, tokens: Tensor) -> Tensor:
        """Return [B, heads, tokens, width of a head] of [B, tokens, W]."""
        rows, count, width = tokens.shape
        return tokens.view(rows, count, self._heads, width // self._heads).transpose(1, 2)


class Dropout(nn.Module):
    """Dropout with a generator of its own and a quarter of the usual random draws.

    Sixteen random bits decide on an element, so that the share dropped is met to 1/65,536.

    Attributes:
        random: What it draws from; None: torch's generator for everything.
    """

    def __init__(self, share: float) -> None:
        """Drop a share of the elements, 0...1 without 1."""
        super().__init__()
        self._lost = round(share * 2**16)
        self.random: torch.Generator | None = None

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, some of them 0 and the others scaled up, while training."""
        if not self.training or self._lost == 0:
            return values
        words = random_words(values.numel(), self.random).view(values.shape)
        scale = 2**16 / (2**16 - self._lost)
        return values * ((words >= self._lost - 2**15).to(values.dtype) * scale)


def random_words(count: int, random: torch.Generator | None) -> Tensor:
    """Return int16 [count], all values equally likely.

    Four from each draw of 64 bits: a fraction of the time of as many floats.
    """
    drawn = torch.empty((count + 3) // 4, dtype=torch.int64)
    drawn.random_(-(2**63), None, generator=random)
    return drawn.view(torch.int16)[:count]


class RobotPolicy(nn.Module):
    """A perceptron over what each signal's samples differ from their mean, and over the means.

    A component's offset is then in one number for each signal, and a sample that is lost reads
    like one that lies on the mean: with half of the samples invalid this is worth more than any
    number of units (docs/results.md). On a robot each graph node costs about half a microsecond,
    however small it is: two hidden layers are faster than any convolution or attention over ten
    samples. Events, if the vocabulary has any, are summed into the first hidden layer: what has
    just happened by code and recency, what once happened by recency and count.
    """

    # Units of each hidden layer: what fits into 30,000 bytes with the shipped activities.
    WIDTH = 64
    # An event of this age counts half as much as one of now; seconds.
    RECENT_S = 10.0
    REMEMBERED_S = 600.0

    total: Tensor
    more: Tensor

    def __init__(
        self, length: int, signals: int, activities: int, width: int = WIDTH, vocabulary: int = 0
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
        self._length, self._signals = length, signals
        # [2·T·F, 2·F]: adds up each signal's samples and how many of them are valid. One product
        # with ones and zeros takes a node where reshaping and adding take several.
        self.register_buffer('total', torch.eye(2).kron(torch.eye(signals).repeat(length, 1)))
        # So little that it changes no mean, but a signal without a valid sample gets 0.
        nearly_none = torch.full((signals,), _NEARLY_NONE)
        self.register_buffer('more', torch.cat((torch.zeros(signals), nearly_none)))
        self.first = nn.Linear((2 * length + 1) * signals, width)
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
        hidden = self.first(self._centred(signals))
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

    def _centred(self, signals: Tensor) -> Tensor:
        """Return distances from the mean, 0 where invalid, then valid, then means."""
        window, valid = torch.split(signals, self._length * self._signals, 1)
        added = torch.addmm(self.more, signals, self.total)
        sums, counts = torch.split(added, self._signals, 1)
        mean = sums / counts
        distance = window - mean.repeat(1, self._length) * valid
        return torch.cat((distance, valid, mean), 1)


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
