"""Rung 5, `lane_rows`: the lanes of a warp are rows of the masks, whose sums stay in registers.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only winners have gradients); Volkov, "Better performance at lower occupancy", GTC 2010
(sums and operands in registers).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.conv2d_weights_gradient.gpu._base import GpuWeightsGradient, inputs_of
from rooftile.strategies.gpu import Config, Step, Tunable

_LANES = 32
_MOST_PLACES = 16
"""Places of a window among which a jump picks."""
_MOST_REGISTERS, _OTHERS = 190, 44
"""For the sums of a warp's maps and a window's pixels; and for everything else."""
_FINISH = 16
"""Rows of threads that share out what `finish` joins."""
_FEW_LANES = 16


class LaneRows(GpuWeightsGradient):
    """Takes winners of windows that tile the image, without strides."""

    name = "lane_rows"
    order = 5
    summary = "lanes are rows of masks with sums in registers, a window's pixels beside them"
    tunables = (Tunable("WARPS", (1, 2, 4, 8), 4),)

    def why_not(self, problem: Conv2dWeightsGradient) -> str | None:
        """Gradients of all outputs, windows that overlap or leave gaps, strides, large masks."""
        pool = problem.pool
        if pool is None:
            return "it is for gradients behind a max-pool"
        if pool.window != pool.stride:
            return f"windows tile the image, and {pool.window} at {pool.stride} do not"
        if problem.stride != (1, 1):
            return f"pixels of neighbouring outputs lie {problem.stride} apart"
        if (places := pool.window[0] * pool.window[1]) > _MOST_PLACES:
            return f"a window has {places} places, {_MOST_PLACES} at most"
        if problem.mask[0] >= _LANES:
            return f"a mask has {problem.mask[0]} rows, a warp {_LANES} lanes, one for the bias"
        return self.invalid(problem, self.defaults(problem))

    def why_slow(self, problem: Conv2dWeightsGradient) -> str | None:
        """Few channels, which leave lanes idle."""
        if (lanes := _channels(problem) * problem.mask[0]) < _FEW_LANES:
            return f"it pays from {_FEW_LANES} rows of masks on, not for {lanes}"
        return None

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """As few warps as have the sums of all maps."""
        valid = (w for w in (4, 8) if self.invalid(problem, {"WARPS": w}) is None)
        return {"WARPS": next(valid, 4)}

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        """More registers or shared memory than there are."""
        if (held := _held(problem, config)) > _MOST_REGISTERS:
            return f"a thread holds {held} numbers, registers {_MOST_REGISTERS}"
        if (nbytes := _shared_bytes(problem, config)) > PORTABLE_SHARED_BYTES:
            return f"an image takes {nbytes} bytes of shared memory of {PORTABLE_SHARED_BYTES}"
        return None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        """The layer's sizes, the tunables, and how pixels lie in shared memory."""
        lie = {"GROUP_CHANNELS": _channels(problem), "PITCH": _pitch(problem)}
        return {
            **super().macros(problem, config),
            **lie,
            "LEAST_BLOCKS": self._resident(problem, config),
        }

    def workspace(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int]:
        """The sums of each block."""
        return {"partial": self._blocks(problem, config) * _columns(problem)}

    def steps(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[Step, ...]:
        """Sums by block, and over the blocks."""
        rows = self._blocks(problem, config)
        grid = (rows, blocks(problem.channels, _channels(problem)), 1)
        partial = Launch("weights_partial", grid, (_LANES * config["WARPS"], 1, 1))
        finish = Launch("finish", (blocks(_columns(problem), 32), 1, 1), (32, _FINISH, 1))
        return (
            Step(partial, (*inputs_of(problem), "partial", problem.images)),
            Step(finish, ("partial", "dweights", "dbias", rows)),
        )

    def _resident(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks of a multiprocessor, by their registers."""
        registers = blocks(_held(problem, config) + _OTHERS, 8) * 8 * _LANES * config["WARPS"]
        return max(1, self.machine.registers // registers)

    def _blocks(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images: those that find room together."""
        resident = min(self._resident(problem, config), 4 * _MOST_PLACES // config["WARPS"])
        return min(problem.images, self.machine.multiprocessors * resident)


def _channels(problem: Conv2dWeightsGradient) -> int:
    """Channels whose masks' rows a warp has lanes for; one lane is the bias's."""
    return min(problem.channels, (_LANES - 1) // problem.mask[0])


def _pieces(problem: Conv2dWeightsGradient) -> int:
    """Pieces, each as wide as a window, that hold the pixels that a window's winners may meet."""
    assert problem.pool is not None
    return blocks(problem.pool.window[1] + problem.mask[1] - 1, problem.pool.window[1])


def _held(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Numbers in a thread's registers: sums, and pixels."""
    assert problem.pool is not None
    down, right = problem.pool.window
    sums = blocks(problem.maps, config["WARPS"]) * problem.mask[1]
    return sums + down * right * _pieces(problem)


def _pitch(problem: Conv2dWeightsGradient) -> int:
    """Columns of a row in shared memory: neighbouring rows begin in banks of their own."""
    assert problem.pool is not None
    windows = problem.arrays[1].shape[3] - 1 + _pieces(problem)
    columns = max(windows * problem.pool.window[1], problem.width + 2 * problem.padding[1])
    return columns + (4 - columns) % 8


def _shared_bytes(problem: Conv2dWeightsGradient, config: Config) -> int:
    """An image's channels with the zeros around them, and all gradients with their places."""
    assert problem.pool is not None
    pixels = _channels(problem) * (problem.height + 2 * problem.padding[0]) * _pitch(problem)
    gradients = problem.arrays[1].size // (problem.images * problem.maps)
    maps = blocks(problem.maps, config["WARPS"]) * config["WARPS"]
    return 4 * (pixels + problem.pool.window[1]) + 8 * maps * gradients


def _columns(problem: Conv2dWeightsGradient) -> int:
    """Weights and biases."""
    return sum(array.size for array in problem.output_arrays)


STRATEGY = LaneRows()
