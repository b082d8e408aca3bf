"""A file's bytes, decompressed by threads. NumPy is imported meanwhile by other threads, and not
here."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from rooftile.errors import InputError


def content(path: Path) -> bytes:
    """The file's content, decompressed where it begins with gzip's magic number.

    Raises `InputError`, which names the file.
    """
    try:
        found = path.read_bytes()
        return gzip.decompress(found) if found[:2] == b"\x1f\x8b" else found
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error) or type(error).__name__
        raise InputError(str(path), f"an unreadable file ({reason})", "an IDX file") from error
