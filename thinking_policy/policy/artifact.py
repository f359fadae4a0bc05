# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""The one file a policy is: read once, so that what was checked is what is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from thinking_policy.policy.errors import PolicyError
from thinking_policy.policy.manifest import METADATA_KEY, Manifest, manifest_from_json
from thinking_policy.policy.model_file import ModelFile, parse_model_file
from thinking_policy.policy.signature import verify_bytes

# A robot's policy is far below; a mistyped path to a bag or an image must not fill its memory.
LARGEST_BYTES = 256 * 1024 * 1024
_ONNX_DOMAINS = ('', 'ai.onnx')


@dataclass(frozen=True)
class Artifact:
    """A policy file in memory: its bytes and what they say about themselves."""

    path: Path
    data: bytes
    model: ModelFile
    manifest: Manifest

    @property
    def opset(self) -> int:
        """Version of ONNX's own operators that the file asks for."""
        return max((self.model.opsets.get(domain, 0) for domain in _ONNX_DOMAINS), default=0)


def read_artifact(path: Path, public_key: Path | None = None) -> Artifact:
    """Read a policy file and check that it is whole, ours and, with a key, signed.

    Args:
        path: The file; it may be replaced while this runs.
        public_key: PEM file; None: signatures are not looked at.

    Raises:
        PolicyError: The message names the file and the reason.
    """
    data = _read(path)
    if public_key is not None:
        # Before anything else looks at the bytes: a parser is what an attacker would aim at.
        verify_bytes(data, path, public_key)
    model = parse_model_file(data, str(path))
    text = model.metadata.get(METADATA_KEY)
    if text is None:
        raise PolicyError(
            f'{path}: an ONNX model, but not a thinking policy: it has no metadata '
            f'{METADATA_KEY!r}'
        )
    manifest = manifest_from_json(text, str(path))
    if manifest.graph_sha256 != model.graph_sha256:
        raise PolicyError(
            f'{path}: damaged: the graph has hash {model.graph_sha256[:16]}..., the manifest '
            f'says {manifest.graph_sha256[:16]}...'
        )
    return Artifact(path, data, model, manifest)


def read_manifest(path: Path) -> Manifest:
    """Return what a policy file says about itself, without loading the network.

    Raises:
        PolicyError: As `read_artifact`.
    """
    return read_artifact(path).manifest


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise PolicyError(f'{path}: expected a policy file, found a directory')
        with path.open('rb') as file:
            data = file.read(LARGEST_BYTES + 1)
    except FileNotFoundError as error:
        raise PolicyError(f'{path}: no such file') from error
    except OSError as error:
        raise PolicyError(f'{path}: cannot be read: {error.strerror}') from error
    if len(data) > LARGEST_BYTES:
        raise PolicyError(
            f'{path}: more than {LARGEST_BYTES // 2**20} MiB; expected a policy file'
        )
    return data
