"""Measured numbers as a file: a checksum tells those that somebody changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_KEY = "checksum"


def sealed(record: Mapping[str, Any]) -> bytes:
    """The text of a record with its checksum."""
    return json.dumps({**record, _KEY: _checksum(record)}, indent=1).encode()


def unsealed(text: str) -> dict[str, Any]:
    """The record of such a text.  Raises `ValueError`, `KeyError` where it is none."""
    record: dict[str, Any] = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError(f"a record was expected, not {type(record).__name__}")
    if record.pop(_KEY) != _checksum(record):
        raise ValueError("the checksum is another record's")
    return record


def _checksum(record: Mapping[str, Any]) -> str:
    # As it will be read: tuples have become lists.
    read = json.loads(json.dumps(record))
    return hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()
