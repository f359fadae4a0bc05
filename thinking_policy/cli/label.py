# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy label`: write down which kinds of thinking recorded situations call for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.progress import showing_progress
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.shipped import config_folder
from thinking_policy.whole_file import check_writable

if TYPE_CHECKING:
    from thinking_policy.bags.labelling.labeller import Labeller
    from thinking_policy.bags.labelling.merging import Merged
    from thinking_policy.bags.labelling.page import Section
    from thinking_policy.bags.labelling.recording import Recording
    from thinking_policy.bags.labelling.table import LabelTable
    from thinking_policy.cli.labelled_data import Sources

EXAMPLES = """\b
Examples:
  thinking-policy label bags/ --config my_robot.yaml --rules general -o labels.csv
  thinking-policy label bags/ --config skab --rules skab -o labels.csv --plot labels.html
  thinking-policy label walk --config turtlebot3 --spans anna.csv -o labels.csv --plot walk.png
  thinking-policy label walk.npz --rules my_rules.yaml --spans anna.csv -o labels.parquet
"""
CONFIG_HELP = 'Robot file (ROS parameter file), or the name of a shipped one, such as turtlebot3.'

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def label(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar='BAG|FOLDER|NPZ',
            readable=False,
            help='Bags, folders of bags, or .npz files of `bag situations`.',
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE',
            readable=False,
            help='Table to write: .csv or .parquet.',
        ),
    ],
    config: Annotated[str, typer.Option(metavar='FILE', help=CONFIG_HELP)] = '',
    rules: Annotated[
        str,
        typer.Option(
            metavar='FILE',
            help='Rules and outcomes (YAML), or the name of shipped ones: general, skab.',
        ),
    ] = '',
    spans: Annotated[
        list[Path] | None,
        typer.Option(
            metavar='FILE', readable=False, help="A person's spans (CSV); may be given again."
        ),
    ] = None,
    activities: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE', readable=False, help='Kinds of thinking (default: the shipped list).'
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE',
            readable=False,
            help='Picture: one page (.html), a .png, or a folder for a .png of each bag.',
        ),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            metavar='NAME', help="The robot's namespace in the bags, for relative topics."
        ),
    ] = '',
    clock: Annotated[
        str, typer.Option(metavar='WORD', help='Whose time the ticks follow: auto, record, clock.')
    ] = 'auto',
    stride: Annotated[
        int, typer.Option(min=1, help='Write every n-th tick; rules look at all of them.')
    ] = 1,
    force: Annotated[bool, typer.Option('--force', help='Replace files that are there.')] = False,
) -> None:
    """Label recorded situations: a table that a person can review and training reads.

    Rules tell from the readings before a moment, outcomes from what came after it, spans are a
    person's word. Where they contradict each other, the person counts, then outcomes, then
    rules, unless the file says otherwise; every conflict is listed.
    """
    from thinking_policy.bags.labelling.labeller import Labeller
    from thinking_policy.bags.labelling.rule_loading import load_rules
    from thinking_policy.bags.labelling.spans import load_spans
    from thinking_policy.bags.labelling.table import joined_tables, write_labels
    from thinking_policy.cli.label_lines import made
    from thinking_policy.cli.labelled_data import find_sources
    from thinking_policy.policy import load_activities

    if not rules and not spans:
        raise ThinkingPolicyError('expected --rules, --spans or both: who says the labels?')
    listed = load_activities(activities or config_folder() / 'thinking.yaml')
    titles = {activity.id: activity.title for activity in listed}
    sources = find_sources(data, config and find_configuration(config), namespace, clock)
    rules_file = _find_rules(rules) if rules else None
    inputs = [*sources.paths.values(), *(spans or []), *([rules_file] if rules_file else [])]
    _check_outputs(output, plot, inputs, tuple(sources.paths), force)
    labeller = Labeller(
        titles,
        load_rules(rules_file, sources.signals, tuple(titles)) if rules_file else None,
        [load_spans(path, titles) for path in spans or []],
        tuple(sources.paths),
        rules_file,
    )
    pictures = _Pictures(plot, tuple(sources.paths))
    tables, starts = _label_all(sources, labeller, pictures, stride)
    table = joined_tables(tables)
    with showing_progress('writing', None):
        write_labels(output, table)
        pictures.finish(labeller)
    for line in made(output, len(table), len(tables), labeller, starts):
        print(line)
    for line in sources.failures():
        print(line)
    for path in pictures.written:
        print(f'{path}: written')


def _label_all(
    sources: Sources, labeller: Labeller, pictures: _Pictures, stride: int
) -> tuple[list[LabelTable], dict[str, int]]:
    """Return the rows of each recording, and where its seconds count from."""
    tables, starts = [], {}
    for recording in sources.recordings():
        merged = labeller.label(recording)
        pictures.add(recording, merged)
        starts[recording.name] = recording.start_ns
        tick_ns = round(recording.tick_s * 1e9)
        tables.append(merged.table.rows(merged.table.stamp_ns // tick_ns % stride == 0))
    return tables, starts


@dataclass
class _Pictures:
    """Draws what `--plot` asks for, recording by recording."""

    path: Path | None
    names: Sequence[str]
    written: list[Path] = field(default_factory=list)
    _sections: list[Section] = field(default_factory=list)

    def add(self, recording: Recording, merged: Merged) -> None:
        if self.path is None:
            return
        from thinking_policy.bags.labelling.picture import picture_of

        picture = picture_of(recording, merged)
        if self.path.suffix == '.html':
            from thinking_policy.bags.labelling.page import section

            self._sections.append(section(picture, merged))
            return
        from thinking_policy.bags.labelling.plot import png_names, write_png

        file = self.path
        if file.suffix != '.png':
            file = self.path / png_names(self.names)[recording.name]
        write_png(file, picture)
        self.written.append(file)

    def finish(self, labeller: Labeller) -> None:
        if self.path is None or self.path.suffix != '.html':
            return
        from thinking_policy.bags.labelling.page import write_page

        title = self.names[0] if len(self.names) == 1 else f'{len(self.names)} recordings'
        write_page(self.path, labeller, self._sections, title)
        self.written.append(self.path)


def _check_outputs(
    output: Path, plot: Path | None, inputs: Sequence[Path], names: Sequence[str], force: bool
) -> None:
    """Refuse places that can't be written, or whose content is not ours to replace.

    Somebody may have corrected the table: it is never replaced unasked.
    """
    from thinking_policy.bags.locating import is_part

    if output.suffix not in ('.csv', '.parquet'):
        raise ThinkingPolicyError(f'{output}: expected a name that ends in .csv or .parquet')
    if output.suffix == '.parquet':
        import pyarrow  # noqa: F401 (that it is missing shall be said before the work)
    if plot is not None and plot.suffix == '.png' and len(names) > 1:
        raise ThinkingPolicyError(
            f'--plot {plot}: a picture shows one recording, there are {len(names)}; name a folder '
            'or a page (.html)'
        )
    if plot is not None and plot.suffix not in ('.html', '.png', ''):
        raise ThinkingPolicyError(f'--plot {plot}: expected .html, .png or a folder')
    if plot is not None and plot.suffix != '.html':
        import matplotlib  # noqa: F401
    places = [output]
    if plot is not None:
        from thinking_policy.bags.labelling.plot import png_names

        one = plot.suffix or (plot.exists() and not plot.is_dir())
        places += [plot] if one else [plot / file for file in png_names(names).values()]
    for place in places:
        for read in inputs:
            if place.resolve() == read.resolve() or (read.is_dir() and is_part(place, read)):
                raise ThinkingPolicyError(f'{place}: is what is read; choose another name')
        if place.exists() and not force:
            raise ThinkingPolicyError(
                f'{place}: exists already; choose another name or replace it with --force'
            )
        check_writable(place)


def _find_rules(name: str) -> Path:
    path = Path(name)
    if path.parent != Path() or path.is_file():  # a shipped one is named without a folder
        return path
    shipped = config_folder() / 'labels' / f'{name.removesuffix(".yaml")}.yaml'
    if not shipped.is_file():
        known = ', '.join(sorted(p.stem for p in shipped.parent.glob('*.yaml'))) or 'none'
        raise ThinkingPolicyError(f'--rules {name}: no such file; shipped rules: {known}')
    return shipped
