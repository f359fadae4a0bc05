# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""`thinking-policy experience from-bag`: what a robot would have kept of a recording."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinking_policy import ThinkingPolicyError
from thinking_policy.cli.experience_options import Db, Tenant, store_to_change
from thinking_policy.cli.robot_files import find_configuration
from thinking_policy.shipped import config_folder

if TYPE_CHECKING:
    from thinking_policy.cli.experience_recording import BagRecording, Put, Recorded
    from thinking_policy.experience.record import Record

EXAMPLES = """\b
Examples:
  thinking-policy experience from-bag walk --policy bundled --config turtlebot3 -o walk.jsonl
  thinking-policy experience from-bag bags/ --policy bundled --config my_robot.yaml --db lived.db
  thinking-policy experience from-bag bags/ --policy policy.onnx --config my_robot.yaml \\
    --db lived.db --outcome mission/result --feedback thinking/feedback --sample-s 10
"""
BUNDLED = 'bundled'
AT_ONCE = 500  # records of one transaction
REASONS = ('change', 'novelty', 'event', 'outcome', 'feedback', 'sample')

_TOPIC = 'Topic of ThinkingFeedback, which says its kind itself, or of std_msgs/String:'


def from_bag(
    bags: Annotated[
        list[Path],
        typer.Argument(
            metavar='BAG|FOLDER', readable=False, help='Bags, or folders of any of them.'
        ),
    ],
    config: Annotated[
        str,
        typer.Option(
            metavar='FILE', help='Robot file, or the name of a shipped one, such as turtlebot3.'
        ),
    ],
    policy: Annotated[
        str, typer.Option(metavar='POLICY', help=f'Policy file (.onnx), or {BUNDLED}.')
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            '--output', '-o', metavar='FILE.jsonl', readable=False, help='File to write.'
        ),
    ] = None,
    db: Db = None,
    tenant: Tenant = '',
    action: Annotated[
        list[str] | None, typer.Option(metavar='TOPIC', help=f'{_TOPIC} each text an action.')
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(metavar='TOPIC', help='The same of outcomes.')
    ] = None,
    feedback: Annotated[
        list[str] | None,
        typer.Option(
            metavar='TOPIC', help='The same of feedback (default: thinking/feedback, if there).'
        ),
    ] = None,
    change: Annotated[bool, typer.Option(help='Record when the active set changes.')] = True,
    novelty: Annotated[
        bool, typer.Option(help='Record when the novelty rises above its threshold.')
    ] = True,
    event: Annotated[bool, typer.Option(help='Record when a tick brings events.')] = True,
    sample_s: Annotated[
        float, typer.Option(min=0.0, help='And one moment in so many seconds; 0: none.')
    ] = 60.0,
    most_per_minute: Annotated[
        float, typer.Option(min=1.0, help='Of changes, novelties and events together.')
    ] = 60.0,
    robot: Annotated[
        str,
        typer.Option(metavar='NAME', help="In every record (default: the robot file's robot_id)."),
    ] = '',
    namespace: Annotated[
        str,
        typer.Option(
            metavar='NAME', help="The robot's namespace in the bags, for relative topics."
        ),
    ] = '',
    clock: Annotated[
        str, typer.Option(metavar='WORD', help='Whose time the ticks follow: auto, record, clock.')
    ] = 'auto',
    force: Annotated[bool, typer.Option('--force', help='Replace a file that is there.')] = False,
    as_json: Annotated[bool, typer.Option('--json', help='One JSON object instead.')] = False,
) -> None:
    """Record experiences of bags with the rules of a robot's node, without ROS.

    Thresholds, hold, baseline and novelty threshold are the robot file's. The same bag gives the
    same records again, with the same ids: into a database they come once. A broken bag is no
    obstacle to the others.
    """
    from thinking_policy.bags.locating import named_bags
    from thinking_policy.cli.experience_hearing import Topics
    from thinking_policy.experience.recorder import RecordingRules

    if (output is None) == (db is None):
        raise ThinkingPolicyError('expected either -o FILE.jsonl or --db PATH: where shall it go?')
    named = named_bags(bags)
    if output is not None:
        _check_output(output, named, force)
    path = config_folder() / 'policy.onnx' if policy == BUNDLED else Path(policy)
    rules = RecordingRules(change, novelty, event, sample_s, most_per_minute)
    topics = Topics(tuple(action or ()), tuple(outcome or ()), tuple(feedback or ()))
    how, remarks = _recording(path, find_configuration(config), rules, topics, robot, namespace,
                              clock)  # fmt: skip
    other = sys.stderr if as_json else sys.stdout
    for line in remarks:
        print(line, file=other)
    with ExitStack() as stack:
        kept: Counter[str] = Counter()
        if output is not None:
            put = stack.enter_context(_into_file(output, kept))
        else:
            put = stack.enter_context(_into_database(db, tenant, kept))
        done, broken = _record_all(named, how, put)
    if as_json:
        print(json.dumps({**_as_json(done), 'broken': broken, 'records': dict(kept)}))
        return
    for line in _lines(done, broken, kept, output or db):
        print(line)


def _recording(
    policy: Path, file: Path, rules: Any, topics: Any, robot: str, namespace: str, clock: str
) -> tuple[BagRecording, tuple[str, ...]]:
    """Return how bags are recorded, and what was noticed when it was found out."""
    from thinking_policy.cli.experience_recording import BagRecording
    from thinking_policy.cli.replaying import asking
    from thinking_policy.cli.robot_sections import sections_for
    from thinking_policy.situation.robot_file import load_parameters

    ask = asking(policy, file, namespace, clock)
    robot_id = robot or str(
        load_parameters(file, sections_for(file, namespace)).get('robot_id', '')
    )
    name = robot_id or namespace.strip('/') or 'robot'
    return BagRecording(ask, rules, topics, name, robot_id), ask.remarks


def _record_all(
    bags: Mapping[str, Path], how: BagRecording, put: Put
) -> tuple[dict[str, Recorded], dict[str, str]]:
    from thinking_policy.bags.errors import BagError
    from thinking_policy.cli.bag_inspecting import nothing_readable, without_path
    from thinking_policy.cli.experience_recording import record_bag

    done: dict[str, Recorded] = {}
    broken: dict[str, str] = {}
    for name, path in bags.items():
        try:
            done[name] = record_bag(name, path, how, put)
        except BagError as error:
            broken[name] = without_path(str(error), path)
    if not done:
        raise nothing_readable(broken)
    return done, broken


@contextmanager
def _into_file(file: Path, kept: Counter[str]) -> Iterator[Put]:
    """Write records as lines; the file is there at the end, whole."""
    from thinking_policy.experience.record import to_line
    from thinking_policy.whole_file import whole_file

    with whole_file(file) as draft, draft.open('wb') as lines:

        def put(records: list[Record]) -> None:
            lines.writelines(to_line(record) + b'\n' for record in records)
            kept['written'] += len(records)

        yield put


@contextmanager
def _into_database(db: Path | None, tenant: str, kept: Counter[str]) -> Iterator[Put]:
    """Store records, some hundred in a transaction."""
    from thinking_policy.experience.entry import Entry, entry_of
    from thinking_policy.experience.record import to_line
    from thinking_policy.experience.transaction import transaction

    batch: list[Entry] = []
    with store_to_change(db, tenant, make=not tenant) as store:

        def flush() -> None:
            if batch:
                now_ns = time.time_ns()
                with transaction(store.database):
                    added = store.add(batch, now_ns)
                kept.update(
                    new=len(added.new),
                    known=len(added.known),
                    conflicting=len(added.conflicting),
                )
                batch.clear()

        def put(records: list[Record]) -> None:
            batch.extend(entry_of(record, to_line(record)) for record in records)
            if len(batch) >= AT_ONCE:
                flush()

        yield put
        flush()


def _lines(
    done: Mapping[str, Recorded], broken: Mapping[str, str], kept: Counter[str], place: Path | None
) -> Iterator[str]:
    from thinking_policy.cli import bag_lines
    from thinking_policy.cli.tables import columns

    rows: list[tuple[str, ...]] = [
        ('bag', 'ticks', 'experiences', *REASONS, 'amendments', 'thinned')
    ]
    for name, recorded in done.items():
        counts, reasons = recorded.counts, recorded.reasons
        rows.append(
            (
                name,
                f'{recorded.ticks:,}',
                f'{counts["experiences"]:,}',
                *(f'{reasons[reason]:,}' for reason in REASONS),
                f'{counts["amendments"]:,}',
                f'{reasons["thinned"]:,}',
            )
        )
    yield from columns(rows, right=tuple(range(1, len(rows[0]))))
    for name, recorded in done.items():
        yield from (f'{name}: {note.strip()}' for note in _notes(recorded))
    yield ''
    if 'written' in kept or not kept:
        yield f'{place}: {kept["written"]:,} records'
    else:
        yield f'{place}: {kept["new"]:,} new records, {kept["known"]:,} known'
        if kept['conflicting']:
            yield (
                f'  left out: {kept["conflicting"]:,} that differ from records of the same id, '
                'made with other rules or thresholds'
            )
    yield from bag_lines.left_alone(broken)


def _notes(recorded: Recorded) -> Iterator[str]:
    yield from (note for note in recorded.notes if note.strip())
    counts = recorded.counts
    for name, words in (
        ('broken', 'could not be used'),
        ('unplaced', 'belong to no moment of the bag'),
        ('named', "name a record of the robot's own file, and no time"),
    ):
        if counts[name]:
            all_of_them = counts['heard'] + counts['broken']
            yield f'{counts[name]:,} of {all_of_them:,} observations {words}'


def _as_json(done: Mapping[str, Recorded]) -> dict[str, Any]:
    return {
        'bags': [
            {
                'bag': name,
                'ticks': found.ticks,
                'reasons': dict(found.reasons),
                'counts': dict(found.counts),
                'notes': [note.strip() for note in found.notes if note.strip()],
            }
            for name, found in done.items()
        ]
    }


def _check_output(output: Path, bags: Mapping[str, Path], force: bool) -> None:
    from thinking_policy.bags.export import check_free

    if output.suffix != '.jsonl':
        raise ThinkingPolicyError(f'{output}: expected a name that ends in .jsonl')
    for bag in bags.values():
        check_free(output, bag, overwrite=force)
