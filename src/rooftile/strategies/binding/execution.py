"""Launches for a number of items, and the memory that they work in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import Launches

_BOUNDARY = 256
"""Alignment of arrays in bytes, as of CUDA's own allocations."""
MOST_EXECUTIONS = 64
"""Numbers of items for which launches are kept."""


@dataclass(frozen=True)
class Workspace:
    """Arrays between inputs and outputs, and where each begins if one allocation holds them all."""

    sizes: Mapping[str, int]
    """Bytes of each by name."""
    offsets: tuple[int, ...]
    nbytes: int
    """Bytes of the one allocation."""

    @classmethod
    def of(cls, shared: Mapping[str, int], *parts: Mapping[str, int]) -> Workspace:
        """Arrays of these bytes.  The arrays of ``parts``, which run one after another, use the
        same memory in turns; ``shared`` ones have memory of their own."""
        offsets, start = _in_a_row(shared.values(), 0)
        end, sizes = start, dict(shared)
        for part in parts:
            more, last = _in_a_row(part.values(), start)
            offsets, end = offsets + more, max(end, last)
            sizes |= part
        return cls(sizes, tuple(offsets), end)

    def at(self, address: int) -> list[int]:
        """The arrays' addresses in an allocation that begins there."""
        return [address + offset for offset in self.offsets]


@dataclass(frozen=True)
class Execution:
    """Launches that start again and again, with what they are given in each start."""

    launches: Launches
    kept: tuple[Any, ...]
    """Buffers that every start reads: packed parameters."""
    workspace: Workspace

    def start(self, arrays: Sequence[Any], workspace: Sequence[Any]) -> None:
        """Start on the present stream: inputs, outputs and parameters that come with the call, and
        memory for each array of the workspace."""
        self.launches.start([*arrays, *self.kept, *workspace])


def _in_a_row(sizes: Iterable[int], start: int) -> tuple[list[int], int]:
    """Offsets of consecutive arrays, and the end of the last."""
    offsets = []
    for nbytes in sizes:
        offsets.append(start)
        start += -(-nbytes // _BOUNDARY) * _BOUNDARY
    return offsets, start
