"""A kernel's resources, read from its machine code; this needs no GPU.

Source: the ELF sections and attributes that NVIDIA's ``cuobjdump --dump-resource-usage`` and
``readelf`` show of a cubin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_REGISTERS, _FRAME = 0x2F, 0x11
"""Numbers of the attributes that hold a kernel's registers and its local memory."""
_SYSTEM_BYTES = 1024
"""Shared memory of a block that the system takes where a kernel has the section for it."""
_INDEX_AND_VALUE = 4
"""Format of an attribute whose payload has a length of its own."""


@dataclass(frozen=True)
class Taken:
    """Resources of one kernel of a cubin."""

    registers: int
    """32-bit registers of a thread."""
    frame_bytes: int
    """Local memory of a thread: spills, and arrays that are not in registers."""
    shared_bytes: int
    """Static shared memory of a block."""


@dataclass(frozen=True)
class _Section:
    name: int
    offset: int
    size: int
    link: int


def resources(cubin: bytes) -> dict[str, Taken]:
    """Registers, local and static shared memory of each kernel of a cubin."""
    sections = list(_sections(cubin))
    names = sections[struct.unpack_from("<H", cubin, 0x3E)[0]]
    by_name = {_string(cubin, names.offset + s.name): s for s in sections}
    symbols = by_name[".symtab"]
    strings = sections[symbols.link]
    values: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME: {}}
    for attribute, symbol, value in _attributes(cubin, by_name[".nv.info"]):
        name = struct.unpack_from("<I", cubin, symbols.offset + 24 * symbol)[0]
        values[attribute][_string(cubin, strings.offset + name)] = value
    kernels = [n.removeprefix(".text.") for n in by_name if n.startswith(".text.")]
    # From sm_90 on a section's size includes what the system takes; drivers do not count that.
    own = -_SYSTEM_BYTES if ".nv.shared.reserved.0" in by_name else 0
    sections_of = {n: by_name.get(f".nv.shared.{n}") for n in kernels}
    shared = {n: section.size + own for n, section in sections_of.items() if section}
    return {n: Taken(values[_REGISTERS][n], values[_FRAME][n], shared.get(n, 0)) for n in kernels}


def _sections(cubin: bytes) -> Iterator[_Section]:
    table = struct.unpack_from("<Q", cubin, 0x28)[0]
    for index in range(struct.unpack_from("<H", cubin, 0x3C)[0]):
        fields = struct.unpack_from("<IIQQQQI", cubin, table + 64 * index)
        yield _Section(fields[0], fields[4], fields[5], fields[6])


def _attributes(cubin: bytes, section: _Section) -> Iterator[tuple[int, int, int]]:
    """The attributes we know, with the number of their symbol and their value."""
    at, end = section.offset, section.offset + section.size
    while at < end:
        kind, attribute, size = struct.unpack_from("<BBH", cubin, at)
        at += 4
        if kind == _INDEX_AND_VALUE:
            if attribute in (_REGISTERS, _FRAME):
                yield attribute, *struct.unpack_from("<II", cubin, at)
            at += size


def _string(cubin: bytes, at: int) -> str:
    return cubin[at : cubin.index(b"\0", at)].decode()
