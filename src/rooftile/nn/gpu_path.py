"""The path of images of one dtype through a GPU plan's layers, in any memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rooftile.devices.gpu import GpuDevice
from rooftile.devices.launches import Call
from rooftile.nn.numbers import Numbers
from rooftile.ops.problem import numpy_dtype
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.binding.execution import MOST_EXECUTIONS, Execution, Workspace

TURNS = ("turn 0", "turn 1")
"""Names of the two arrays that hold the layers' results in turns."""
NUMBERS, WIDE = "numbers", "wide"
"""Names of the arrays of images as float32, and of scores before they are rounded."""


class GpuPath:
    """The layers as bound for images of a dtype, and the kernels before and after them.

    ``scores`` is the dtype of the results: that of the images, float32 for pixels.
    """

    def __init__(
        self,
        gpu: GpuDevice,
        dtype: str,
        bound: Sequence[Executable],
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
        self._executions: dict[int, Execution] = {}

    def places(self, batch: int) -> dict[str, int]:
        """Bytes of each array between the images and the scores; 16-bit ones take half of it."""
        results = [4 * batch * size for size in self._sizes[1:-1]]
        found = {name: max(results[turn::2], default=0) for turn, name in enumerate(TURNS)}
        if self._reads:
            found[NUMBERS] = 4 * batch * self._sizes[0]
        if self._writes:
            found[WIDE] = 4 * batch * self._sizes[-1]
        return {name: nbytes for name, nbytes in found.items() if nbytes}

    def execution(self, count: int) -> Execution:
        """The launches for ``count`` images: of images, scores, and workspace between both."""
        found = self._executions.get(count)
        if found is None:
            if len(self._executions) >= MOST_EXECUTIONS:
                self._executions = {}
            found = self._executions[count] = self._laid_out(count)
        return found

    def _laid_out(self, count: int) -> Execution:
        work, kept, x, last = list[Call](), dict[str, Any](), "images", len(self.bound) - 1
        # The layers' own temporaries take turns.
        parts = [self.places(count)]
        if self._reads and self.numbers is not None:
            work.append(self.numbers.read(x, NUMBERS, count * self._sizes[0]))
            x = NUMBERS
        for number, bound in enumerate(self.bound):
            y = TURNS[number % 2] if number < last else WIDE if self._writes else "scores"
            sizes = bound.temporaries(count)
            own = {name: f"{number} {name}" for name in sizes}
            calls, memory = bound.calls(count, (x, y), own, f"{number} ")
            work += calls
            parts.append({own[name]: nbytes for name, nbytes in sizes.items()})
            kept |= memory
            x = y
        if self._writes and self.numbers is not None:
            work.append(self.numbers.write(x, "scores", count * self._sizes[-1]))
        workspace = Workspace.of(*parts)
        launches = self._gpu.launches(work, ("images", "scores", *kept, *workspace.sizes))
        return Execution(launches, tuple(kept.values()), workspace)


def aligned_step(path: GpuPath, batch: int, boundary: int) -> int:
    """The most images, at most a batch, after which images and scores are on a boundary again;
    a batch where there is no such number."""
    needs = (boundary // math.gcd(boundary, n) for n in (path.image_bytes, path.score_bytes))
    step = math.lcm(*needs)
    return batch - batch % step if step <= batch else batch
