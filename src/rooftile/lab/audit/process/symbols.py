"""What a file of machine code holds: the names of its functions, and where they are.

A copy under another name has the same symbols, and so has a library that is linked into another
one.  Source: the System V Application Binary Interface, chapters 4 and 5 (ELF, 64 bits).
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_TABLES = (2, 11)
"""SHT_SYMTAB and SHT_DYNSYM."""
_LOADED, _FUNCTION, _INDIRECT = 1, 2, 10
"""PT_LOAD, STT_FUNC, STT_GNU_IFUNC."""
_MOST_SECTIONS, _MOST_BYTES = 10_000, 2**26


class Symbols:
    """The functions of a file that it defines itself.

    Raises `OSError` and `ValueError` for a file that cannot be read, or is none of these.
    """

    def __init__(self, path: Path) -> None:
        # A pipe in the place of a file would let its reader wait.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("no file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
                try:
                    self._read(held)
                except (struct.error, IndexError) as error:
                    raise ValueError(str(error)) from None

    def _read(self, held: mmap.mmap) -> None:
        magic, *_, programs, sections, _, _, size, count, each, number, _ = _HEADER.unpack_from(
            held
        )
        if magic[:6] != b"\x7fELF\x02\x01" or each != _SECTION.size or number > _MOST_SECTIONS:
            raise ValueError("no ELF file of 64 bits")
        self._loaded = [
            (offset, address, filled)
            for kind, _, offset, address, _, filled, _, _ in (
                _SEGMENT.unpack_from(held, programs + i * size) for i in range(count)
            )
            if kind == _LOADED
        ]
        tables = [_SECTION.unpack_from(held, sections + i * each) for i in range(number)]
        found = []
        for _, kind, _, _, offset, nbytes, link, *_ in tables:
            if kind in _TABLES and nbytes <= _MOST_BYTES:
                _, _, _, _, names, length, *_ = tables[link]
                symbols = np.frombuffer(held[offset : offset + nbytes], _SYMBOL)
                found.append((symbols, held[names : names + min(length, _MOST_BYTES)]))
        self._names: list[bytes] = []
        values: list[int] = []
        for symbols, text in found:
            kinds = symbols["info"] & 15
            own = (symbols["section"] != 0) & ((kinds == _FUNCTION) | (kinds == _INDIRECT))
            self._names += [
                text[start : text.find(b"\0", start)] for start in symbols["name"][own].tolist()
            ]
            values += symbols["value"][own].tolist()
        self._values = np.array(values, np.uint64)

    @cached_property
    def names(self) -> frozenset[str]:
        """Of all functions."""
        return frozenset(name.decode("utf-8", "backslashreplace") for name in self._names)

    @cached_property
    def _order(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        return np.argsort(self._values, kind="stable")

    def at(self, offset: int) -> str:
        """The function at a place of the file: the last that begins before it; empty without."""
        for start, address, filled in self._loaded:
            if start <= offset < start + filled:
                place = np.uint64(offset - start + address)
                before = int(np.searchsorted(self._values[self._order], place, "right"))
                if before:
                    name = self._names[int(self._order[before - 1])]
                    return name.decode("utf-8", "backslashreplace")
        return ""


@lru_cache(maxsize=64)
def symbols_of(path: Path) -> Symbols | None:
    """A file's symbols; None where they cannot be read."""
    try:
        return Symbols(path)
    except (OSError, ValueError):
        return None
