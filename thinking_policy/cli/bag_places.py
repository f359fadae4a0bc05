# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Where the bags of several tables go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thinking_policy.bags.errors import BagError


def bag_places(tables: Sequence[Path], output: Path, force: bool) -> dict[Path, Path]:
    """Return the new bag of each table: `output` for one, else a folder in it named as the table.

    Raises:
        BagError: Two tables have the same name, or a bag is there already; before any work.
    """
    if len(tables) == 1:
        return {tables[0]: output}
    places: dict[Path, Path] = {}
    for table in tables:
        place = output / table.stem
        for other, taken in places.items():
            if taken == place:
                raise BagError(
                    f'{other} and {table}: both would become {place}; convert them one by one'
                )
        places[table] = place
    there = [place for place in places.values() if place.exists()]
    if there and not force:
        names = ', '.join(str(place) for place in there[:3]) + (' ...' if there[3:] else '')
        raise BagError(
            f'{names}: exists already; choose another folder or replace it with --force'
        )
    return places
