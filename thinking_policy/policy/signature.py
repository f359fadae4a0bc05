# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""Ed25519 signatures that stand beside a policy file as `<file>.sig` (64 raw bytes).

`cryptography` is imported only when a key is used: a robot without a configured key needs none.
The format is that of `openssl pkeyutl -sign -rawin`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from thinking_policy.policy.errors import PolicyError
from thinking_policy.whole_file import whole_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SUFFIX = '.sig'
_SIZE = 64


def signature_path(path: Path) -> Path:
    """Return where the signature of a file stands."""
    return path.with_name(path.name + SUFFIX)


def write_key_pair(private_key: Path, public_key: Path) -> None:
    """Make a new key pair as PEM files; the private one is readable by its owner only.

    Raises:
        PolicyError: One of the files is there already, or can't be written.
    """
    serialization, keys = _cryptography()
    private = keys.Ed25519PrivateKey.generate()
    secret = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    try:
        for path in (private_key, public_key):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                raise PolicyError(f'{path}: exists already; a key is never overwritten')
        # Created with its mode, so that it is never readable by others, not even briefly.
        handle = os.open(private_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, 'wb') as file:
            file.write(secret)
        public_key.write_bytes(public)
    except OSError as error:
        raise PolicyError(f'{error.filename}: cannot be written: {error.strerror}') from error


def sign_file(path: Path, private_key: Path) -> Path:
    """Write the signature beside the file and return its path.

    Raises:
        PolicyError: The file or key can't be read, or the signature not be written.
    """
    key = _private_key(private_key)
    signature = key.sign(_read(path, 'file to sign'))
    target = signature_path(path)
    with whole_file(target, PolicyError) as draft:
        draft.write_bytes(signature)
    return target


def verify_file(path: Path, public_key: Path) -> None:
    """Check the signature beside a file.

    Raises:
        PolicyError: As `verify_bytes`, or the file can't be read.
    """
    verify_bytes(_read(path, 'policy'), path, public_key)


def verify_bytes(data: bytes, path: Path, public_key: Path) -> None:
    """Check that the signature beside `path` belongs to `data`, which was read from it.

    Raises:
        PolicyError: No key, no signature, or one of another key or another file.
    """
    key = _public_key(public_key)
    beside = signature_path(path)
    if not beside.is_file():
        raise PolicyError(
            f'{path}: not signed: {beside.name} is missing, and a public key is configured '
            f'({public_key})'
        )
    signature = _read(beside, 'signature')
    if len(signature) != _SIZE:
        raise PolicyError(
            f'{beside}: expected an Ed25519 signature of {_SIZE} bytes, found {len(signature)}'
        )
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, data)
    except InvalidSignature as error:
        raise PolicyError(
            f'{path}: the signature does not belong to this file and the key {public_key}; '
            f'it was changed, or signed with another key'
        ) from error


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise PolicyError(
            'signatures need the Python package cryptography; install python3-cryptography '
            '(apt) or cryptography (pip)'
        ) from error
    return serialization, ed25519


def _private_key(path: Path) -> Ed25519PrivateKey:
    serialization, keys = _cryptography()
    try:
        key = serialization.load_pem_private_key(_read(path, 'private key'), password=None)
    except (ValueError, TypeError) as error:
        raise PolicyError(
            f'{path}: expected an Ed25519 private key as unencrypted PEM; make one with '
            f'"thinking-policy policy keygen"'
        ) from error
    if not isinstance(key, keys.Ed25519PrivateKey):
        raise PolicyError(f'{path}: expected an Ed25519 private key, found {type(key).__name__}')
    return cast('Ed25519PrivateKey', key)


def _public_key(path: Path) -> Ed25519PublicKey:
    serialization, keys = _cryptography()
    data = _read(path, 'public key')
    try:
        key = serialization.load_pem_public_key(data)
    except ValueError as error:
        raise PolicyError(f'{path}: expected an Ed25519 public key as PEM') from error
    if not isinstance(key, keys.Ed25519PublicKey):
        raise PolicyError(f'{path}: expected an Ed25519 public key, found {type(key).__name__}')
    return cast('Ed25519PublicKey', key)


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PolicyError(f'{path}: {what} cannot be read: {error.strerror}') from error
