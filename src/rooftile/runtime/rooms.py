"""Memory for the temporaries of calls that are repeated on a GPU's arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

_LARGE = 2**16
"""float32 of temporaries, 256 KB: of larger ones all calls together keep but so many."""
_MOST = 2**24
"""So many of them, 64 MB: to allocate takes as long as to launch, and graphs need them where they
lay before, but whoever has a small GPU has better use for more."""
_MOST_STREAMS = 8

Room = tuple[Any, list[int]]
"""Memory for the temporaries of a call, and where each begins."""
_kept = deque[tuple[dict[int, Room], int, int]]()
"""Large ones, those of longest ago first: the rooms of a call, the stream, and how many float32."""


class Rooms:
    """What a call's temporaries lie in: each stream keeps them, used in its order, unless they are
    too many."""

    def __init__(
        self, make: Callable[[], tuple[Any, int]], floats: int, offsets: Sequence[int]
    ) -> None:
        """``make`` gives memory of so many ``floats`` and its address; each temporary begins at one
        of the ``offsets``."""
        self._make, self._floats, self._offsets = make, floats, offsets
        self.are_kept = floats <= _MOST
        self.kept = dict[int, Room]()
        """By stream."""

    def new(self) -> Room:
        """One that nobody else holds."""
        held, start = self._make()
        return held, [start + offset for offset in self._offsets]

    def keep(self, stream: int) -> Room:
        """One that a stream keeps from now on."""
        room = self.new()
        if len(self.kept) >= _MOST_STREAMS:
            self.kept.clear()
        self.kept[stream] = room
        if self._floats > _LARGE:
            _kept.append((self.kept, stream, self._floats))
            while sum(floats for *_, floats in _kept) > _MOST:
                # What still works there was started on the stream, in whose order it is freed.
                rooms, longest_ago, _ = _kept.popleft()
                rooms.pop(longest_ago, None)
        return room
