# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment is: cells that each give figures, and how to show them beside the paper's.

A cell is one seed under one condition: a pure function of what stands in it. So cells may run
in any order, in several processes, and an interrupted run goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from thinking_policy.training.learning_set import LearningSet

# Method → metric → value, such as {'robot policy': {'f1': 1.0}}.
Figures = Mapping[str, Mapping[str, float]]
# What a cell is doing, and which share of it is done, 0...1.
Tell = Callable[[str, float], None]


@dataclass(frozen=True)
class Options:
    """What the person who runs an experiment chose.

    Attributes:
        seeds: The seeds to run, in order.
        quick: A smaller form for continuous integration.
        data: Folder of measured data, for the experiments that use some.
    """

    seeds: tuple[int, ...]
    quick: bool = False
    data: Path | None = None


@dataclass(frozen=True)
class Cell:
    """One seed under one condition, or a part of that.

    Attributes:
        name: The condition, such as `N500`; letters, digits, `-`, `_`, `.`.
        seed: Decides data and weights.
        part: What of the condition this cell computes, such as `robot`, where several share the
            work; `name`, `part` and `seed` together are unique.
        settings: Whatever else decides the figures; JSON types.
        alone: Nothing else may run meanwhile, since time is measured.
    """

    name: str
    seed: int
    part: str = ''
    settings: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False

    @property
    def key(self) -> str:
        """Name of the cell's file, without its ending."""
        return '-'.join(word for word in (self.name, self.part, f'seed{self.seed}') if word)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the figures."""
        content = json.dumps([self.key, self.settings], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Stat:
    """Mean and sample standard deviation (ddof 1) over n seeds; sd is 0 for one seed."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class CellResult:
    """What a cell gave, how long it took in seconds, and where and with what it ran."""

    cell: Cell
    figures: Figures
    wall_s: float
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """What all cells of a run gave.

    Attributes:
        options: What was asked for.
        cells: In the order of the plan.
        elapsed_s: Wall time of all runs that it took; less than the cells' together where
            several ran at once.
    """

    options: Options
    cells: Sequence[CellResult]
    elapsed_s: float = 0.0

    def values(self, name: str, method: str, metric: str = 'f1') -> list[float]:
        """Return the figure of every seed of one condition, in the order of the seeds."""
        return [
            result.figures[method][metric]
            for result in self.cells
            if result.cell.name == name and metric in result.figures.get(method, {})
        ]

    def stat(self, name: str, method: str, metric: str = 'f1') -> Stat:
        """Return mean and deviation of one figure over the seeds; NaN where there is none."""
        return stat(self.values(name, method, metric))


@dataclass(frozen=True)
class Table:
    """A table to show: texts, the first column to the left, the others to the right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Attributes:
        name: As on the command line.
        version: Raised by hand whenever data, methods or figures change their meaning: results
            of another version are never gone on with.
        title: Heading of the tables.
        plan: Options to cells.
        run_cell: A cell to its figures.
        tables: What is printed.
        draw: Fills the figure that becomes the PNG.
        paper: The paper's figures as data, for results.json.
        quick_note: What the quick form leaves out, said in the heading.
        data_sets: Seed and quick to the sets that a seed sees, by name such as `train`.
        needs_data: Whether it works on a folder of measured data.
        seeded: Whether anything is drawn at random; if not, seeds make no difference.
    """

    name: str
    version: int
    title: str
    plan: Callable[[Options], Sequence[Cell]]
    run_cell: Callable[[Cell, Tell], Figures]
    tables: Callable[[Results], Sequence[Table]]
    draw: Callable[[Results, Figure], None]
    paper: Mapping[str, Any] = field(default_factory=dict)
    quick_note: str = 'fewer seeds and steps'
    data_sets: Callable[[int, bool], Mapping[str, LearningSet]] | None = None
    needs_data: bool = False
    seeded: bool = True


def stat(values: Sequence[float]) -> Stat:
    """Return mean and sample standard deviation; NaN without values, or where one is NaN."""
    if not values or not all(map(math.isfinite, values)):
        return Stat(math.nan, math.nan, 0)
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return Stat(statistics.fmean(values), sd, len(values))


def silent(what: str, share: float) -> None:
    """Tell nobody: for a cell that is run by itself."""
