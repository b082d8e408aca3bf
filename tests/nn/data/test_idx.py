from __future__ import annotations

import gzip
import re
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rooftile.errors import InputError
from rooftile.nn.data.idx import idx_bytes, read_idx

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@given(
    array=arrays.arrays(np.uint8, arrays.array_shapes(min_dims=1, max_dims=4, min_side=0)),
    compressed=st.booleans(),
)
def test_what_was_written_is_read(array, compressed, tmp_path_factory):
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(gzip.compress(idx_bytes(array)) if compressed else idx_bytes(array))
    read = read_idx(path, array.ndim)
    np.testing.assert_array_equal(read, array)
    assert read.dtype == np.uint8


def test_the_format_is_that_of_its_authors(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(bytes.fromhex("0000080100000003070009"))
    assert read_idx(path, 1).tolist() == [7, 0, 9]


WHOLE = idx_bytes(IMAGES)
BROKEN = {
    "an unsigned-byte file of one dimension": (idx_bytes(IMAGES[0, 0]), "00000801.*00000803"),
    "a file of floats": (b"\x00\x00\x0d\x03" + WHOLE[4:], "magic number 00000d03"),
    "another file": (b"PK\x03\x04" + WHOLE[4:], "magic number 504b0304"),
    "nothing": (b"", "the file is empty.*00000803"),
    "half a header": (WHOLE[:9], "9 bytes.*at least 16"),
    "a missing byte": (WHOLE[:-1], "23 bytes after the header; expected 24.*2x3x4"),
    "a trailing byte": (WHOLE + b"\0", "25 bytes after the header; expected 24"),
    "dimensions that overflow": (
        WHOLE[:4] + struct.pack(">3I", *[2**32 - 1] * 3), "4294967295x4294967295"
    ),
    "truncated gzip": (gzip.compress(WHOLE)[:-9], "unreadable file"),
    "gzip with a wrong checksum": (gzip.compress(WHOLE)[:-8] + bytes(8), "CRC"),
    "gzip of nothing": (b"\x1f\x8b", "unreadable file"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_named_with_what_was_expected(fault, tmp_path):
    content, message = BROKEN[fault]
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{re.escape(str(path))}.*{message}"):
        read_idx(path, 3)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"missing.*unreadable"):
        read_idx(tmp_path / "missing", 3)
