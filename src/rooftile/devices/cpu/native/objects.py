"""Put an object file's code into memory without LLVM, which takes longer to load than all kernels.

Kernels need little of what object files can have: code, constants, and references of code to both
and to functions of the C library and of Python's, relative to where they stand.  `linked` knows
these for x86-64 on Linux; whatever else there is, it leaves to LLVM.

Source: "System V Application Binary Interface, AMD64 Architecture Processor Supplement",
chapter 4.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
import weakref
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

_HEAD = b"\x7fELF\x02\x01\x01"
_RELOCATABLE_X86_64 = (1, 62)
_CONTENT, _SYMBOLS, RELOCATIONS = 1, 2, 4
_WRITABLE, _ALLOCATED = 0x1, 0x2
_RELATIVE = (2, 4)
"""R_X86_64_PC32 and R_X86_64_PLT32: symbol + addend - place, in 32 bits."""
_TABLED = (9, 41, 42)
"""R_X86_64_GOTPCREL, and its forms that a linker may shorten: the same to where the symbol's
address is written."""
_JUMP, _PADDING = b"\xff\x25\x00\x00\x00\x00", b"\x00\x00"
"""A jump to the address after it, which may be anywhere; both have 16 bytes with the padding."""


class Image:
    """Code and constants in read-only memory, until the object is garbage.

    The memory outlives the interpreter, as the threads do that run in it.
    """

    def __init__(self, code: bytearray) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        readable, self.nbytes = mmap.PROT_READ, len(code)
        place = _library().mmap(None, self.nbytes, readable | mmap.PROT_WRITE, flags, -1, 0)
        if place in (None, ctypes.c_void_p(-1).value):
            raise _Unknown
        self.start = int(place)
        weakref.finalize(self, _library().munmap, self.start, self.nbytes).atexit = False
        ctypes.memmove(self.start, bytes(code), self.nbytes)
        if _library().mprotect(self.start, self.nbytes, readable | mmap.PROT_EXEC) != 0:
            raise _Unknown


class _Unknown(Exception):
    """The file has something that is left to LLVM."""


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    section: int
    """0 where it is not in this file."""
    value: int


def linked(code: bytes, functions: Sequence[str]) -> tuple[tuple[int, ...], Image] | None:
    """The addresses of functions of an object file, and the image that they are in; None where
    LLVM must link it.

    The file is whole and is LLVM's: it is run as it is.
    """
    if not code.startswith(_HEAD) or sys.platform != "linux":
        return None
    if struct.unpack_from("<HH", code, 16) != _RELOCATABLE_X86_64:
        return None
    try:
        return _linked(code, functions)
    except _Unknown:
        return None


def _linked(code: bytes, functions: Sequence[str]) -> tuple[tuple[int, ...], Image]:
    sections = _sections(code)
    symbols = _symbols(code, sections)
    # Sections, then a jump to each function that is elsewhere.
    places, end = _places(sections)
    image = bytearray(end)
    for number, place in places.items():
        image[place : place + sections[number].size] = _content(code, sections[number])
    at: list[int | None] = []
    for symbol in symbols:
        if symbol.section in places:
            at.append(places[symbol.section] + symbol.value)
        elif symbol.section == 0 and symbol.name:
            at.append(len(image))
            image += _JUMP + struct.pack("<Q", _of_library(symbol.name)) + _PADDING
        else:
            at.append(None)
    for table in sections:
        if table.type == RELOCATIONS and table.info in places:
            _relocate(image, places[table.info], _content(code, table), at, end)
    offsets = {symbol.name: offset for symbol, offset in zip(symbols, at, strict=True)}
    found = [offsets.get(name) for name in functions]
    if None in found:
        raise _Unknown
    made = Image(image)
    return tuple(made.start + offset for offset in found if offset is not None), made


def _sections(code: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    return [
        _Section(*struct.unpack_from("<IIQQQQIIQQ", code, start + size * k)) for k in range(count)
    ]


def _content(code: bytes, section: _Section) -> bytes:
    return code[section.offset : section.offset + section.size]


def _places(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """The offset in memory of each section that is loaded, and the end of the last."""
    places, end = {}, 0
    for number, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.type == _CONTENT:
            if section.flags & _WRITABLE:
                raise _Unknown
            end = _up(end, section.align or 1)
            places[number] = end
            end += section.size
    return places, _up(end, len(_JUMP) + 8 + len(_PADDING))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _symbols(code: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    tables = [section for section in sections if section.type == _SYMBOLS]
    if len(tables) != 1:
        raise _Unknown
    names = _content(code, sections[tables[0].link])
    return [
        _Symbol(names[name : names.index(b"\0", name)].decode(), section, value)
        for name, _, _, section, value, _ in struct.iter_unpack(
            "<IBBHQQ", _content(code, tables[0])
        )
    ]


def _relocate(
    image: bytearray, base: int, table: bytes, at: Sequence[int | None], jumps: int
) -> None:
    """Fill the references of a section at ``base``; symbols are ``at`` these offsets, and those
    from ``jumps`` on are jumps, in which addresses are written."""
    for offset, info, addend in struct.iter_unpack("<QQq", table):
        kind, target = info & 0xFFFFFFFF, at[info >> 32]
        if target is None:
            raise _Unknown
        if kind in _TABLED and target >= jumps:
            target += len(_JUMP)
        elif kind not in _RELATIVE:
            raise _Unknown
        place = base + offset
        struct.pack_into("<i", image, place, target + addend - place)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


@cache
def _of_library(name: str) -> int:
    """The address of a function of the C library or its mathematics."""
    try:
        return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise _Unknown from None
