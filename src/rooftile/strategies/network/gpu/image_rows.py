"""Rung 3, `image_rows`: a small convolution and the linear layer behind it, for one image.

Source: Bell, Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented
Processors", SC09, for rows of a matrix; that what is small is computed again wherever it is needed
is overlapped tiling: Holewinski, Pouchet, Sadayappan, "High-Performance Code Generation for Stencil
Computations on GPU Architectures", ICS12.
"""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.devices.gpu import Launch
from rooftile.ops import AnyArray, Chain, Conv2d, Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import beyond_block, blocks
from rooftile.strategies.gpu import Config, GpuStrategy, Step, Tunable

_MOST_PIECES = 28
"""Pieces of four weights that a thread holds while the convolution is computed."""
_MOST_MAPS = 8
"""Maps of which a thread sums four neighbours."""
_THREADS = tuple(range(128, 513, 32))
_MOST_FLOPS = 2**20
"""Of a convolution that each block computes in the time that its weights are on their way."""
_LEAST_WEIGHTS = 2**20
"""Of the linear layer, whose blocks are too few to wait for the convolution otherwise."""


class ImageRows(GpuStrategy):
    """Takes a convolution of few maps without pool and stride, and a linear layer."""

    operation = "network"
    name = "image_rows"
    order = 3
    summary = "a convolution again in each block, while its rows of weights are on their way"
    devices = ("cuda",)
    tunables = (
        Tunable("ROWS", (1, 2, 4, 8), 4),
        Tunable("THREADS", _THREADS, 256),
        Tunable("TOGETHER", (1, 2, 4, 8), 4),
    )

    def why_not(self, problem: Chain) -> str | None:
        """Other layers; a convolution that its loops do not know."""
        if not _is_pair(problem):
            return "it takes a convolution and a linear layer"
        conv, linear = _layers(problem)
        if conv.activation != linear.activation:
            return "both layers have the same activation"
        if conv.pool is not None or conv.stride != (1, 1) or conv.boundary != "zero":
            return "it takes no pool, no stride, and zeros as ghost cells"
        if conv.maps > _MOST_MAPS:
            return f"{conv.maps} maps, a thread sums at most {_MOST_MAPS}"
        if conv.output_size[1] % 4:
            return "a thread sums four neighbours of a row"
        return self.invalid(problem, self.config(problem))

    def why_slow(self, problem: Chain) -> str | None:
        """Several images, or so large a convolution that it is computed again in vain."""
        conv, linear = _layers(problem)
        if problem.batch > 1:
            return "it pays for one image"
        if conv.flops > _MOST_FLOPS:
            return f"it pays up to {_MOST_FLOPS} FLOPs of the convolution"
        if linear.inputs * linear.outputs < _LEAST_WEIGHTS:
            return f"it pays from {_LEAST_WEIGHTS} weights of the linear layer on"
        return None

    def defaults(self, problem: Chain) -> dict[str, int]:
        """A block for each multiprocessor, if there are rows enough, and the fewest threads that
        can hold its weights and compute the convolution at once."""
        conv, linear = _layers(problem)
        together = next(n for n in (4, 2, 1) if conv.maps % n == 0)
        tasks = linear.inputs // (4 * together)
        wanted = blocks(linear.outputs, self.machine.multiprocessors)
        rows = next((r for r in (1, 2, 4, 8) if r >= wanted), 8)
        while rows > 1 and _held(linear, _THREADS[-1]) * rows > _MOST_PIECES:
            rows //= 2
        enough = [t for t in _THREADS if t >= tasks and _held(linear, t) * rows <= _MOST_PIECES]
        return {"ROWS": rows, "THREADS": (*enough, _THREADS[-1])[0], "TOGETHER": together}

    def invalid(self, problem: Chain, config: Config) -> str | None:
        """Too many weights a thread, or too much shared memory."""
        conv, linear = _layers(problem)
        held = config["ROWS"] * _held(linear, config["THREADS"])
        if held > _MOST_PIECES:
            return f"{held} pieces of weights a thread, at most {_MOST_PIECES}"
        if conv.maps % config["TOGETHER"]:
            return f"{conv.maps} maps in groups of {config['TOGETHER']}"
        rows, columns = conv.output_size
        span = (conv.mask[1] + 6) // 4
        tile = conv.channels * (rows + conv.mask[0] - 1) * 4 * (columns // 4 - 1 + span)
        taps = conv.maps * conv.channels * conv.mask[0] * conv.mask[1]
        shared = tile + linear.inputs + taps + conv.maps + config["ROWS"] * config["THREADS"]
        return beyond_block(config["THREADS"], 4 * shared)

    def macros(self, problem: Chain, config: Config) -> dict[str, int | str]:
        """Both layers' sizes, and the tunables."""
        conv, linear = _layers(problem)
        rows, columns = conv.output_size
        return {
            **config,
            "CHANNELS": conv.channels,
            "HEIGHT": conv.height,
            "WIDTH": conv.width,
            "MAPS": conv.maps,
            "MASK_HEIGHT": conv.mask[0],
            "MASK_WIDTH": conv.mask[1],
            "PAD_Y": conv.padding[0],
            "PAD_X": conv.padding[1],
            "OUT_HEIGHT": rows,
            "OUT_WIDTH": columns,
            "OUTPUTS": linear.outputs,
            "ACTIVATION": ACTIVATION_CODES[conv.activation],
            "REACH": 1 << ((config["THREADS"] - 1).bit_length() - 1),
        }

    def packed(
        self, problem: Chain, parameters: Mapping[str, AnyArray], config: Config
    ) -> dict[str, AnyArray]:
        """Both layers' as they are."""
        return {
            f"{kind}_{number}": parameters[f"{name}.{kind}"]
            for number, (name, _) in enumerate(problem.layers, start=1)
            for kind in ("weights", "bias")
        }

    def steps(self, problem: Chain, config: Config) -> tuple[Step, ...]:
        """One kernel."""
        _, linear = _layers(problem)
        grid = (blocks(linear.outputs, config["ROWS"]), problem.batch, 1)
        launch = Launch("image_rows", grid, (config["THREADS"], 1, 1))
        arrays = ("x", "weights_1", "bias_1", "weights_2", "bias_2", "out")
        return (Step(launch, (*arrays, problem.batch)),)


def _is_pair(problem: Chain) -> bool:
    kinds = [type(layer) for layer in problem.problems]
    return kinds == [Conv2d, Linear]


def _layers(problem: Chain) -> tuple[Conv2d, Linear]:
    conv, linear = problem.problems
    assert isinstance(conv, Conv2d)
    assert isinstance(linear, Linear)
    return conv, linear


def _held(linear: Linear, threads: int) -> int:
    """Pieces of a row that a thread holds."""
    return blocks(linear.inputs, 4 * threads)


STRATEGY = ImageRows()
