"""How images of one dtype go through a GPU plan's layers, in whichever memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rooftile.devices.gpu import GpuDevice, Launches
from rooftile.devices.launches import Call
from rooftile.nn.numbers import Numbers
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.bound import GpuBound

TURNS = ("turn 0", "turn 1")
"""Where the layers' results lie: two arrays in turns hold all of them."""
NUMBERS, WIDE = "numbers", "wide"
"""Where the images lie as float32, and the scores before they are rounded."""
_BOUNDARY = 256
"""Bytes on whose multiples an array begins, as those of CUDA's own allocations."""
_MOST_ROUTES = 64


@dataclass(frozen=True)
class Route:
    """The launches for so many images, and the memory that they work in."""

    launches: Launches
    """Of images, scores, what stays, and then the pieces."""
    stays: tuple[Any, ...]
    pieces: dict[str, int]
    """Bytes of each array between the images and the scores, the layers' temporaries included."""
    offsets: tuple[int, ...]
    """Where the pieces begin in one memory; temporaries of different layers lie over each other."""
    nbytes: int
    """How long that memory is."""


class Way:
    """The layers as bound for images of a dtype, and the kernels before and behind them.

    ``scores`` is the dtype of the results: that of the images, float32 for pixels.
    """

    def __init__(
        self,
        gpu: GpuDevice,
        dtype: str,
        bound: Sequence[GpuBound],
        sizes: Sequence[int],
        numbers: Numbers | None,
        converts: tuple[bool, bool],
    ) -> None:
        """``sizes`` are numbers of an image and of each layer's result of one; ``converts`` says
        whether ``numbers`` makes float32 of the images, and the scores of float32."""
        self._gpu, self.dtype, self.bound = gpu, dtype, list(bound)
        self.scores = "float32" if dtype == "uint8" else dtype
        self.numbers = numbers
        self._sizes, (self._reads, self._writes) = list(sizes), converts
        self.image_bytes = sizes[0] * numpy_dtype(dtype).itemsize
        self.score_bytes = sizes[-1] * numpy_dtype(self.scores).itemsize
        self._routes: dict[int, Route] = {}

    def places(self, batch: int) -> dict[str, int]:
        """Bytes of each array between the images and the scores; 16-bit ones take half of it."""
        results = [4 * batch * size for size in self._sizes[1:-1]]
        found = {name: max(results[turn::2], default=0) for turn, name in enumerate(TURNS)}
        if self._reads:
            found[NUMBERS] = 4 * batch * self._sizes[0]
        if self._writes:
            found[WIDE] = 4 * batch * self._sizes[-1]
        return {name: nbytes for name, nbytes in found.items() if nbytes}

    def start(self, images: Any, scores: Any, count: int, pieces: Sequence[Any]) -> None:
        """Start everything for so many images on the device's present stream.

        ``pieces`` is memory for `Route.pieces`, in their order.
        """
        route = self.route(count)
        route.launches.start([images, scores, *route.stays, *pieces])

    def start_in(self, memory: int, images: int, scores: int, count: int) -> None:
        """`start` on addresses; ``memory`` has as many bytes as the route needs."""
        route = self.route(count)
        places = [memory + offset for offset in route.offsets]
        route.launches.start([images, scores, *route.stays, *places])

    def route(self, count: int) -> Route:
        """What so many images go through."""
        found = self._routes.get(count)
        if found is None:
            if len(self._routes) >= _MOST_ROUTES:
                self._routes = {}
            found = self._routes[count] = self._laid_out(count)
        return found

    def _laid_out(self, count: int) -> Route:
        places = self.places(count)
        work, stays, x = list[Call](), dict[str, Any](), "images"
        if self._reads and self.numbers is not None:
            work.append(self.numbers.read(x, NUMBERS, count * self._sizes[0]))
            x = NUMBERS
        offsets, end = _in_a_row(places, 0)
        pieces, nbytes, last = dict(places), end, len(self.bound) - 1
        for number, bound in enumerate(self.bound):
            y = TURNS[number % 2] if number < last else WIDE if self._writes else "scores"
            own = {name: f"{number} {name}" for name in bound.temporaries(count)}
            sizes = {own[name]: size for name, size in bound.temporaries(count).items()}
            begins, after = _in_a_row(sizes, end)
            calls, kept = bound.calls(count, (x, y), own, f"{number} ")
            work += calls
            stays |= kept
            pieces |= sizes
            offsets |= begins
            nbytes, x = max(nbytes, after), y
        if self._writes and self.numbers is not None:
            work.append(self.numbers.write(x, "scores", count * self._sizes[-1]))
        launches = self._gpu.launches(work, ("images", "scores", *stays, *pieces))
        return Route(launches, tuple(stays.values()), pieces, tuple(offsets.values()), nbytes)


def aligned_step(way: Way, batch: int, boundary: int) -> int:
    """The most images, at most a batch, after which images and scores are on a boundary again;
    a batch where there is no such number."""
    needs = (boundary // math.gcd(boundary, n) for n in (way.image_bytes, way.score_bytes))
    step = math.lcm(*needs)
    return batch - batch % step if step <= batch else batch


def _in_a_row(sizes: Mapping[str, int], start: int) -> tuple[dict[str, int], int]:
    """Where arrays begin that lie behind each other, and where the last ends."""
    offsets = {}
    for name, nbytes in sizes.items():
        offsets[name] = start
        start += -(-nbytes // _BOUNDARY) * _BOUNDARY
    return offsets, start
