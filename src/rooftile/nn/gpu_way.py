"""How images of one dtype go through a GPU plan's layers, in whichever memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.nn.numbers import Numbers
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.placed import PlacedBound

TURNS = ("turn 0", "turn 1")
"""Where the layers' results lie: two arrays in turns hold all of them."""
NUMBERS, WIDE = "numbers", "wide"
"""Where the images lie as float32, and the scores before they are rounded."""
_BOUNDARY = 256
"""Bytes on whose multiples an array begins, as those of CUDA's own allocations."""
_MOST_LAYOUTS = 64
_Addresses = dict[str, int]


@dataclass(frozen=True)
class Layout:
    """Where arrays lie in the memory of one call: bytes from its start."""

    places: dict[str, int]
    workspaces: tuple[dict[str, int], ...]
    """Each layer's temporaries."""
    nbytes: int


class Way:
    """The layers as bound for images of a dtype, and the kernels before and behind them.

    ``scores`` is the dtype of the results: that of the images, float32 for pixels.
    """

    def __init__(
        self,
        dtype: str,
        bound: Sequence[PlacedBound],
        sizes: Sequence[int],
        numbers: Numbers | None,
        converts: tuple[bool, bool],
    ) -> None:
        """``sizes`` are numbers of an image and of each layer's result of one; ``converts`` says
        whether ``numbers`` makes float32 of the images, and the scores of float32."""
        self.dtype, self.bound = dtype, list(bound)
        self.scores = "float32" if dtype == "uint8" else dtype
        self.numbers = numbers
        self._sizes, (self._reads, self._writes) = list(sizes), converts
        self.image_bytes = sizes[0] * numpy_dtype(dtype).itemsize
        self.score_bytes = sizes[-1] * numpy_dtype(self.scores).itemsize
        self._layouts: dict[int, Layout] = {}
        self._placed: tuple[tuple[int, int], _Addresses, list[_Addresses]] = ((0, 0), {}, [])

    def places(self, batch: int) -> dict[str, int]:
        """Bytes of each array between the images and the scores; 16-bit ones take half of it."""
        results = [4 * batch * size for size in self._sizes[1:-1]]
        found = {name: max(results[turn::2], default=0) for turn, name in enumerate(TURNS)}
        if self._reads:
            found[NUMBERS] = 4 * batch * self._sizes[0]
        if self._writes:
            found[WIDE] = 4 * batch * self._sizes[-1]
        return {name: nbytes for name, nbytes in found.items() if nbytes}

    def start(
        self,
        images: Any,
        scores: Any,
        count: int,
        places: Mapping[str, Any],
        workspaces: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Start everything for so many images on the device's present stream.

        ``places`` holds memory by the names of `places`; without ``workspaces`` the layers use
        their own.
        """
        x = images
        if self._reads and self.numbers is not None:
            x = places[NUMBERS]
            self.numbers.read(images, x, count * self._sizes[0])
        last = len(self.bound) - 1
        for number, bound in enumerate(self.bound):
            if number < last:
                y = places[TURNS[number % 2]]
            else:
                y = places[WIDE] if self._writes else scores
            if workspaces and workspaces[number]:
                bound.launch_in((x, y), count, workspaces[number])
            else:
                bound.launch((x, y), count)
            x = y
        if self._writes and self.numbers is not None:
            self.numbers.write(x, scores, count * self._sizes[-1])

    def start_in(self, memory: int, images: int, scores: int, count: int) -> None:
        """`start` on addresses; ``memory`` is that of `layout`."""
        # Allocators give the same memory to call after call.
        known, places, workspaces = self._placed
        if known != (memory, count):
            layout = self.layout(count)
            places = _at(memory, layout.places)
            workspaces = [_at(memory, offsets) for offsets in layout.workspaces]
            self._placed = (memory, count), places, workspaces
        self.start(images, scores, count, places, workspaces)

    def layout(self, count: int) -> Layout:
        """The memory of a call for so many images; workspaces lie over each other."""
        found = self._layouts.get(count)
        if found is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts = {}
            found = self._layouts[count] = self._laid_out(count)
        return found

    def _laid_out(self, count: int) -> Layout:
        places, end = _in_a_row(self.places(count), 0)
        workspaces = [_in_a_row(bound.temporaries(count), end) for bound in self.bound]
        nbytes = max(after for _, after in workspaces)
        return Layout(places, tuple(offsets for offsets, _ in workspaces), nbytes)


def aligned_step(way: Way, batch: int, boundary: int) -> int:
    """The most images, at most a batch, after which images and scores are on a boundary again;
    a batch where there is no such number."""
    needs = (boundary // math.gcd(boundary, n) for n in (way.image_bytes, way.score_bytes))
    step = math.lcm(*needs)
    return batch - batch % step if step <= batch else batch


def _at(memory: int, offsets: Mapping[str, int]) -> _Addresses:
    return {name: memory + offset for name, offset in offsets.items()}


def _in_a_row(sizes: Mapping[str, int], start: int) -> tuple[dict[str, int], int]:
    """Where arrays begin that lie behind each other, and where the last ends."""
    offsets = {}
    for name, nbytes in sizes.items():
        offsets[name] = start
        start += -(-nbytes // _BOUNDARY) * _BOUNDARY
    return offsets, start
