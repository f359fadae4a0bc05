# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the parts of a record have in common, and how values from outside are checked."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thinking_policy.experience.errors import ExperienceError

Name = Annotated[str, Field(max_length=256)]
Code = Annotated[str, Field(max_length=128)]
Nanoseconds = Annotated[int, Field(ge=0, lt=2**63)]


class Part(BaseModel):
    """What all parts of a record have in common: they never change, and hold nothing unknown."""

    model_config = ConfigDict(frozen=True, extra='forbid', allow_inf_nan=False)


Kind = TypeVar('Kind', bound=Part)


def checked(kind: type[Kind], source: str = 'record', /, **fields: Any) -> Kind:
    """Make a part of a record, of values that came from outside.

    Args:
        kind: `Observation`, `Activation`, …
        source: Topic or place named in errors.
        fields: Its fields.

    Raises:
        ExperienceError: A value does not fit; says which, what was expected and found.
    """
    try:
        return kind(**fields)
    except ValidationError as error:
        raise refusal(error, source) from error


def refusal(error: ValidationError, source: str, *, show_input: bool = True) -> ExperienceError:
    """Return the first problem; before all others that it is of another schema.

    `show_input`: Whether to say what was found; each problem then brings a copy of all that it is
    about, which may be large.
    """
    problems: list[Any] = error.errors(include_url=False, include_input=show_input)
    first = problems[0]
    for problem in problems:
        if problem['loc'] and problem['loc'][-1] == 'schema_version':
            first = problem
            break
    where = '.'.join(str(part) for part in first['loc'] if part not in ('experience', 'amendment'))
    silent = not show_input or first['type'] in ('missing', 'json_invalid')
    found = '' if silent else f', found {_short(first)}'
    message = first['msg'].removeprefix('Value error, ')
    return ExperienceError(
        f'{source}: {where + ": " if where else ""}{message}{found}',
        'schema' if first['loc'] and first['loc'][-1] == 'schema_version' else 'invalid',
    )


def _short(problem: Any) -> str:
    text = repr(problem['input'])
    return text if len(text) <= 60 else f'{text[:57]}...'
