"""The IDX format of MNIST and its successors: a header, then the elements, big-endian.

Source: LeCun, Cortes, Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rooftile.errors import InputError
from rooftile.nn.data.content import content

_UNSIGNED_BYTE = 0x08
_MOST_ELEMENTS = 2**31
"""A header that claims more is taken for a damaged one."""


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an IDX file, plain or compressed with gzip.

    Raises `InputError`, which names the file and what was expected, for a file that is
    missing, damaged, of another element type or number of dimensions, or not of the
    length that its header says.
    """
    return array_of(content(path), dimensions, path)


def array_of(given: bytes, dimensions: int, path: Path) -> NDArray[np.uint8]:
    """The same of the content of the file."""
    magic, header = bytes([0, 0, _UNSIGNED_BYTE, dimensions]), 4 + 4 * dimensions
    expected = f"an IDX file of unsigned bytes with {dimensions} dimension(s)"
    if given[:4] != magic:
        found = given[:4].hex() or "(the file is empty)"
        raise InputError(str(path), f"magic number {found}", f"{magic.hex()}, {expected}")
    if len(given) < header:
        raise InputError(str(path), f"{len(given)} bytes", f"{expected}: at least {header} bytes")
    shape = struct.unpack(f">{dimensions}I", given[4:header])
    size = math.prod(shape)
    if size > _MOST_ELEMENTS or len(given) - header != size:
        raise InputError(
            str(path),
            f"{len(given) - header} bytes after the header",
            f"{size}, as its dimensions {'x'.join(map(str, shape))} say",
        )
    return np.frombuffer(given, np.uint8, offset=header).reshape(shape)


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    """The plain IDX file of an array of unsigned bytes."""
    header = bytes([0, 0, _UNSIGNED_BYTE, array.ndim]) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.tobytes()
