"""Workspace of calls that are repeated on a GPU's arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rooftile.devices.cuda import CudaArray
from rooftile.runtime.arrays.base import Library
from rooftile.strategies.binding.execution import Workspace

if TYPE_CHECKING:
    from rooftile.devices.cuda import CudaDevice

LARGE = 2**18
"""Bytes of a workspace; of larger ones all calls together keep `MOST`."""
MOST = 2**26
"""To allocate takes as long as to launch, and graphs need a workspace where it was before, but a
small GPU's owner has better use for more."""
_MOST_STREAMS = 8

Placed = tuple[Any, list[int]]
"""Memory for the workspace of a call, and the address of each array."""
kept_workspaces = deque[tuple[dict[int, Placed], int, int]]()
"""Large ones, the least recently made first: what a call keeps, the stream, and the bytes."""


def memory_for(
    library: Library, device: CudaDevice, nbytes: int, captured: list[CudaArray]
) -> CudaArray | None:
    """Memory of the caller's library, in the order of the caller's stream; None for no bytes.

    ``captured`` holds it where the call is captured into a graph and the library's pool would give
    it to others, into which the graph still writes.  Raises `OutOfMemory`.
    """
    if not nbytes:
        return None
    held = library.empty((-(-nbytes // 4),), device)
    if not library.graph_pool and device.capturing():
        captured.append(held)
    return held


class StreamWorkspaces:
    """Memory of a call's workspace: each stream keeps one, used in its order, unless they are too
    large."""

    def __init__(self, make: Callable[[], tuple[Any, int]], workspace: Workspace) -> None:
        """``make`` gives memory for the workspace and its address."""
        self._make, self._workspace = make, workspace
        self.are_kept = workspace.nbytes <= MOST
        self.kept = dict[int, Placed]()
        """By stream."""

    def new(self) -> Placed:
        """One that nobody else holds."""
        held, start = self._make()
        return held, self._workspace.at(start)

    def keep(self, stream: int) -> Placed:
        """One that a stream keeps from now on."""
        made, nbytes = self.new(), self._workspace.nbytes
        if len(self.kept) >= _MOST_STREAMS:
            self.kept.clear()
        self.kept[stream] = made
        if nbytes > LARGE:
            kept_workspaces.append((self.kept, stream, nbytes))
            while sum(size for *_, size in kept_workspaces) > MOST:
                # What still works there was started on the stream, in whose order it is freed.
                kept, oldest, _ = kept_workspaces.popleft()
                kept.pop(oldest, None)
        return made
