"""Memory for the temporaries of calls that are repeated on a GPU's arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

_SMALL = 2**20
"""float32 of temporaries that streams keep, 4 MB: to allocate them takes as long as to launch, and
graphs need them where they lay before.  Larger ones would hold too much of the GPU's memory."""
_MOST_STREAMS = 8
_LARGE, _MOST_LARGE = 2**16, 16
"""float32 of such temporaries of which all calls together keep but so many, 64 MB at most."""

Room = tuple[Any, list[int]]
"""Memory for the temporaries of a call, and where each begins."""
_large: deque[tuple[dict[int, Room], int]] = deque()
"""Those of longest ago first: the rooms of a call, and the stream."""


class Rooms:
    """What a call's temporaries lie in: each stream keeps small ones, used in its order."""

    def __init__(
        self, make: Callable[[], tuple[Any, int]], floats: int, offsets: Sequence[int]
    ) -> None:
        """``make`` gives memory of so many ``floats`` and its address; each temporary begins at one
        of the ``offsets``."""
        self._make, self._floats, self._offsets = make, floats, offsets
        self.are_kept = floats <= _SMALL
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
            _large.append((self.kept, stream))
            if len(_large) > _MOST_LARGE:
                # What still works there was started on the stream, in whose order it is freed.
                rooms, longest_ago = _large.popleft()
                rooms.pop(longest_ago, None)
        return room
