# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy file says about itself: the truth on the robot."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thinking_policy.policy.activities import ThinkingActivity, activities_from_entries
from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.packing import InputSpec

SCHEMA_VERSION = 1
METADATA_KEY = 'thinking_policy.manifest'


@dataclass(frozen=True)
class ManifestSignal:
    """A signal as the policy was trained with; the period is that of its samples."""

    name: str
    unit: str
    nominal_low: float
    nominal_high: float
    period_s: float


@dataclass(frozen=True)
class Manifest:
    """The description that travels inside `policy.onnx`.

    Attributes:
        robot: Robot or robot family it was trained for.
        signals: F signals in window order.
        window_length: T, samples per signal.
        tick_period_s: Tick period in seconds.
        activities: G kinds of thinking in output order, with the thresholds chosen.
        inputs: How a situation is packed into tensors.
        event_vocabulary: V event codes that the policy knows.
        recent_events: E, recent events that it reads; 0 with an empty vocabulary.
        network: Short name of the architecture.
        parameters: Number of weights.
        opset: Version of ONNX's operators that the graph uses.
        ir_version: Version of the file format.
        graph_sha256: Hash of the serialised graph.
        training_data_sha256: Hash of the training rows.
        training: What training was told, such as the seed, by name.
        metrics: Figures on held-out data, by name.
        parent: Version of the policy that this one was trained from; empty: none.
        created: ISO 8601 time.
        sources: Recordings by name and table of labels by hash; empty: not known.
        schema_version: Version of this list of fields.
    """

    robot: str
    signals: tuple[ManifestSignal, ...]
    window_length: int
    tick_period_s: float
    activities: tuple[ThinkingActivity, ...]
    inputs: tuple[InputSpec, ...]
    event_vocabulary: tuple[str, ...] = ()
    recent_events: int = 0
    network: str = ''
    parameters: int = 0
    opset: int = 0
    ir_version: int = 0
    graph_sha256: str = ''
    training_data_sha256: str = ''
    training: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    parent: str = ''
    created: str = ''
    sources: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def version(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
        return hashlib.sha256(self.to_json().encode('utf-8')).hexdigest()[:16]

    def to_json(self) -> str:
        """Return canonical JSON: sorted keys, no blanks, so that equal manifests hash alike.

        Raises:
            PolicyError: A field has a wrong type or value; nothing that can't be read is written.
        """
        # Read back once, for 1 and 1.0 are equal here and not in a hash.
        return _dump(_read(json.loads(_dump(self)), 'manifest'))


def manifest_from_json(text: str, source: str) -> Manifest:
    """Return the manifest that `to_json` wrote.

    Args:
        text: JSON.
        source: File named in errors.

    Raises:
        PolicyError: Not JSON, a newer schema, or a field missing, unknown or of a wrong type.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f'{source}: the manifest is not JSON: {error}') from error
    schema = values.get('schema_version') if isinstance(values, dict) else None
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise PolicyError(f'{source}: the manifest has no schema_version')
    if schema > SCHEMA_VERSION:
        raise PolicyError(
            f'{source}: the manifest has schema {schema}, this version of thinking_policy '
            f'reads up to {SCHEMA_VERSION}; update thinking_policy'
        )
    return _read(values, f'{source}: manifest')


def _dump(manifest: Manifest) -> str:
    fields = dataclasses.asdict(manifest)
    if not manifest.sources:  # so that files that are older than it keep their version
        del fields['sources']
    return json.dumps(fields, sort_keys=True, separators=(',', ':'), ensure_ascii=False)


def _read(values: Any, where: str) -> Manifest:
    manifest: Manifest = _build(Manifest, values, where)
    _check(manifest, where)
    return manifest


def _build(kind: Any, values: Any, where: str) -> Any:
    """Fill a dataclass from parsed JSON, strictly: the version is a hash of every field."""
    if not isinstance(values, dict):
        raise PolicyError(f'{where}: expected names and values, found {values!r:.80}')
    fields = {f.name: f for f in dataclasses.fields(kind)}
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise PolicyError(f'{where}: unknown field {unknown[0]!r}')
    hints = typing.get_type_hints(kind)
    given = {}
    for name, spec in fields.items():
        if name in values:
            given[name] = _convert(values[name], hints[name], f'{where}.{name}')
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise PolicyError(f'{where}.{name} is missing')
    return kind(**given)


def _convert(value: Any, hint: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if isinstance(hint, types.GenericAlias) and origin is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(value, list):
            raise PolicyError(f'{where}: expected a list, found {value!r:.80}')
        if item is ThinkingActivity:
            return activities_from_entries(value, where.rpartition('.')[0])
        return tuple(_convert(v, item, f'{where}[{i}]') for i, v in enumerate(value))
    if origin is not None:
        if not isinstance(value, dict):
            raise PolicyError(f'{where}: expected names and numbers, found {value!r:.80}')
        return {str(k): _convert(v, float, f'{where}.{k}') for k, v in value.items()}
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 2**1023 else math.inf
    if isinstance(value, str) and not value.isprintable():
        raise PolicyError(f'{where}: expected printable text, found {value!r:.80}')
    if (
        not isinstance(value, hint)
        or isinstance(value, bool)
        or (hint is float and not math.isfinite(value))
    ):
        raise PolicyError(f'{where}: expected {hint.__name__}, found {value!r:.80}')
    return value


def _check(manifest: Manifest, where: str) -> None:
    names = [signal.name for signal in manifest.signals]
    for label, items in (('signals', names), ('event_vocabulary', manifest.event_vocabulary)):
        if len(set(items)) != len(items):
            raise PolicyError(f'{where}.{label}: {list(items)} names one twice')
    if not names or not manifest.activities:
        raise PolicyError(f'{where}: expected at least one signal and one activity')
    if manifest.window_length < 1 or manifest.tick_period_s <= 0:
        raise PolicyError(
            f'{where}: expected window_length >= 1 and tick_period_s > 0, found '
            f'{manifest.window_length} and {manifest.tick_period_s}'
        )
    for signal in manifest.signals:
        width = signal.nominal_high - signal.nominal_low
        if not (0 < width < math.inf and signal.period_s > 0):
            raise PolicyError(
                f'{where}.signals: {signal.name:.80}: expected nominal_low < nominal_high and '
                f'period_s > 0, found {signal.nominal_low}...{signal.nominal_high} and '
                f'{signal.period_s}'
            )
    if bool(manifest.event_vocabulary) != (manifest.recent_events > 0):
        raise PolicyError(
            f'{where}: {len(manifest.event_vocabulary)} event codes do not go with '
            f'recent_events {manifest.recent_events}'
        )
