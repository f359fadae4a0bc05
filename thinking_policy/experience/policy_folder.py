# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Policies that a robot has fetched, on its disk: the one that runs, and the one before it.

FOLDER/current.json             which one runs, and what the server last had
FOLDER/VERSION/policy.onnx      and policy.onnx.sig where it is signed
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from thinking_policy.experience.errors import ExperienceError
from thinking_policy.whole_file import whole_file

FILE, SIGNATURE = 'policy.onnx', 'policy.onnx.sig'
MEMORY = 'current.json'
_DRAFT = '.incoming'
_VERSION = re.compile(r'[A-Za-z0-9_-]{1,128}')


@dataclass(frozen=True)
class Memory:
    """What a restart has to know.

    Attributes:
        etag: Of what the server last had, whatever became of it.
        current: Version that runs; empty: none of this folder.
        previous: Version that ran before.
        refused: Version that was refused last, if it is still what the server has.
        reason: Why it was.
    """

    etag: str = ''
    current: str = ''
    previous: str = ''
    refused: str = ''
    reason: str = ''


class PolicyFolder:
    """Policies by version. A version never changes. One thread uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, version: str) -> Path:
        """Return where a version is or would be."""
        return self.path / version / FILE

    def memory(self) -> Memory:
        """Return what is remembered; nothing where that can't be read."""
        try:
            found = json.loads((self.path / MEMORY).read_text(encoding='utf-8'))
            memory = Memory(**{field.name: str(found[field.name]) for field in fields(Memory)})
        except (OSError, ValueError, TypeError, KeyError):
            return Memory()
        if memory.current and not self.file(memory.current).is_file():
            return Memory()  # somebody has deleted it: fetch it again
        return memory

    def remember(self, memory: Memory) -> None:
        """Remember this over a power cut; versions that are of no use any more go.

        Raises:
            ExperienceError: The disk refuses.
        """
        with whole_file(self.path / MEMORY, ExperienceError, durable=True) as draft:
            draft.write_text(json.dumps(asdict(memory), indent=2) + '\n', encoding='utf-8')
        _clear(self.path / _DRAFT)
        for folder in self.path.iterdir():
            if folder.name not in (memory.current, memory.previous) and is_version(folder.name):
                _clear(folder)

    def draft(self, body: bytes, signature: bytes | None) -> Path:
        """Write a policy where nobody looks for one, to be checked; return its file.

        Raises:
            ExperienceError: The disk refuses.
        """
        _clear(self.path / _DRAFT)
        return self._write(_DRAFT, body, signature)

    def keep(self, version: str, body: bytes, signature: bytes | None) -> Path:
        """Write a policy under its version; it is whole and survives a power cut.

        Returns:
            Its file.

        Raises:
            ExperienceError: The disk refuses.
        """
        return self._write(version, body, signature)

    def holds(self, version: str, body: bytes) -> bool | None:
        """Return whether a version is there with this content; None: it is not there."""
        try:
            return self.file(version).read_bytes() == body
        except FileNotFoundError:
            return None
        except OSError:
            return False

    def _write(self, name: str, body: bytes, signature: bytes | None) -> Path:
        path = self.path / name / FILE
        beside = path.with_name(SIGNATURE)
        # The signature first: a file is never there without its own.
        if signature is not None:
            with whole_file(beside, ExperienceError, durable=True) as draft:
                draft.write_bytes(signature)
        with whole_file(path, ExperienceError, durable=True) as draft:
            draft.write_bytes(body)
        if signature is None:
            beside.unlink(missing_ok=True)
        return path


def is_version(text: str) -> bool:
    """Whether a version can be the name of a folder."""
    return _VERSION.fullmatch(text) is not None


def _clear(folder: Path) -> None:
    """Delete a policy; whatever else somebody keeps there stays."""
    with contextlib.suppress(OSError):
        for name in (FILE, SIGNATURE):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
