"""The IDX format of MNIST and its successors: a header, then the elements, big-endian.

Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError

_UNSIGNED_BYTE = 0x08
_MOST_ELEMENTS = 2**31
"""A header that claims more is taken for a damaged one."""


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an IDX file, plain or compressed with gzip.

    Raises `InputError`, which names the file and what was expected, for a file that is
    missing, damaged, of another element type or number of dimensions, or not of the
    length that its header says.
    """
    content = _read(path)
    magic, header = bytes([0, 0, _UNSIGNED_BYTE, dimensions]), 4 + 4 * dimensions
    expected = f"an IDX file of unsigned bytes with {dimensions} dimension(s)"
    if content[:4] != magic:
        found = content[:4].hex() or "(the file is empty)"
        raise InputError(str(path), f"magic number {found}", f"{magic.hex()}, {expected}")
    if len(content) < header:
        raise InputError(str(path), f"{len(content)} bytes", f"{expected}: at least {header} bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:header])
    size = math.prod(shape)
    if size > _MOST_ELEMENTS or len(content) - header != size:
        raise InputError(
            str(path),
            f"{len(content) - header} bytes after the header",
            f"{size}, as its dimensions {'x'.join(map(str, shape))} say",
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    """The plain IDX file of an array of unsigned bytes."""
    header = bytes([0, 0, _UNSIGNED_BYTE, array.ndim]) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.tobytes()


def _read(path: Path) -> bytes:
    """The file's content, decompressed where it begins with gzip's magic number."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error) or type(error).__name__
        raise InputError(str(path), f"an unreadable file ({reason})", "an IDX file") from error
