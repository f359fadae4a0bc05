# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""One page, readable without a network, on which a person looks over the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from thinking_policy.bags.labelling import drawing
from thinking_policy.bags.labelling.errors import LabelError
from thinking_policy.bags.labelling.labeller import Labeller
from thinking_policy.bags.labelling.merging import Merged
from thinking_policy.bags.labelling.picture import Picture
from thinking_policy.bags.labelling.svg import svg
from thinking_policy.whole_file import whole_file

_MOST_CONFLICTS = 200  # rows of a table that somebody reads

DEFAULTS = {
    'none_called_for': 'Where nobody says a thing, nothing is called for',
    'unlabelled': 'Situations that nobody speaks about are not in the table',
}


@dataclass(frozen=True)
class Section:
    """One recording on the page; `shares` are those of the activities."""

    name: str
    start_ns: int
    about: str
    shares: tuple[float, ...]
    svg: str
    silent: tuple[str, ...]


def section(picture: Picture, merged: Merged) -> Section:
    """Draw one recording; what it needs afterwards is some hundred kilobytes."""
    label = merged.table.label
    shares = label.mean(axis=0) if len(label) else np.zeros(label.shape[1])
    begins = drawing.moment(picture.pieces[0].stamp_ns) if picture.pieces else 'empty'
    episodes = len(picture.pieces)
    conflicts = len(picture.conflicts)
    about = [
        begins,
        f'{drawing.clock(round(picture.length_s), picture.length_s)}',
        f'{picture.labelled:,} of {picture.rows:,} situations labelled',
        *([f'{episodes:,} episodes'] if episodes > 1 else []),
        *([f'{conflicts:,} conflict{"s" if conflicts > 1 else ""}'] if conflicts else []),
    ]
    return Section(
        picture.name,
        picture.start_ns,
        ' · '.join(about),
        tuple(float(share) for share in shares),
        svg(picture),
        picture.silent,
    )


def write_page(path: Path, labeller: Labeller, sections: Sequence[Section], title: str) -> None:
    """Write the page; it appears whole or not at all.

    Raises:
        LabelError: It can't be written.
    """
    import jinja2

    source = files(__package__).joinpath('page.html.j2').read_text(encoding='utf-8')
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    used = {
        origin.partition(':')[0]
        for tally in labeller.tallies.values()
        for origin in tally.by_origin
    }
    text = environment.from_string(source).render(
        title=title,
        rows=labeller.rows,
        labelled=labeller.labelled,
        nothing=labeller.nothing,
        precedence=labeller.precedence,
        default=DEFAULTS[labeller.default],
        remarks=labeller.remarks(),
        tallies=labeller.tallies,
        conflicts=labeller.conflicts,
        most=_MOST_CONFLICTS,
        bags=sections,
        anchors={one.name: index for index, one in enumerate(sections, 1)},
        starts={one.name: one.start_ns for one in sections},
        kinds=[
            (words, drawing.COLOURS[kind]) for kind, words in drawing.KINDS.items() if kind in used
        ],
        nominal=drawing.NOMINAL,
        signal=drawing.SIGNAL,
        event=drawing.EVENT,
        clash=drawing.CLASH,
        unsure_paper=drawing.UNSURE_PAPER,
        unsure_ink=drawing.UNSURE_INK,
    )
    with whole_file(path, LabelError) as draft:
        draft.write_text(text, encoding='utf-8')
