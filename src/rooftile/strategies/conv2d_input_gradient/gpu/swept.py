"""`swept`: a warp sweeps along a row of windows, its lanes are columns and channels.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only the argmax has a gradient); Volkov, Demmel, "Benchmarking GPUs to Tune Dense Linear
Algebra", SC08 (sums in registers).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.gradients.conv2d_input_gradient import Conv2dInputGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d_input_gradient.gpu.naive import GpuInputGradient, arguments_of

_STEP = 2
"""Columns whose winners are walked before two columns are whole."""
_COLUMNS = 8
"""Of a warp's lanes; the others are channels."""
_CHANNELS, _LANES = 4, 32
_MOST_ROWS = 24
"""Rows that a row of windows meets, in a lane's registers."""
_BLOCK_BANDS = 2
_RESIDENT_THREADS = 1024
"""Threads of a multiprocessor that hide each other's waits, with registers enough for each."""


class Swept(GpuInputGradient):
    """Takes argmax gradients of windows that do not overlap, of an even width."""

    name = "swept"
    devices = ("cuda",)
    summary = "a warp sweeps along a row of windows, a lane's columns in registers"
    takes = features("before:* padding pool:max")
    tunables = (
        Tunable("BANDS", (1, 2, 4), 1),
        Tunable("GROUPS", (1, 2, 4), 1),
        Tunable("BLOCK_BANDS", (1, 2, 4, 8), 2),
    )

    def limits(self, problem: Conv2dInputGradient) -> str | None:
        """Gradients of all outputs, windows that overlap or are of an odd width, strides, masks
        beyond lanes or registers, images beyond a block."""
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        if pool.window[1] % _STEP:
            return f"a window's {pool.window[1]} columns are no whole steps of {_STEP}"
        if (most := _COLUMNS + 1 - _STEP) < problem.mask[1]:
            return f"a mask has {problem.mask[1]} columns, {most} at most"
        if (met := pool.window[0] + problem.mask[0] - 1) > _MOST_ROWS:
            return f"a row of windows meets {met} rows, {_MOST_ROWS} at most"
        return self.invalid(problem, self.defaults(problem))

    def defaults(self, problem: Conv2dInputGradient) -> dict[str, int]:
        """Few images are shared by more blocks, and their maps by more warps."""
        batch, many = problem.batch, self.machine.multiprocessors
        bands, groups = (2, 4) if 2 * batch <= many else (1, 2) if batch <= many else (1, 1)
        wanted = ((bands, fewer) for fewer in (4, 2, 1) if fewer <= groups)
        for bands, groups in (*wanted, (2, 1), (4, 1)):
            config = {"BANDS": bands, "GROUPS": groups, "BLOCK_BANDS": _BLOCK_BANDS}
            if self.invalid(problem, config) is None:
                return config
        return {"BANDS": 1, "GROUPS": 1, "BLOCK_BANDS": _BLOCK_BANDS}

    def invalid(self, problem: Conv2dInputGradient, config: Config) -> str | None:
        if (maps := blocks(problem.maps, config["GROUPS"])) > _LANES:
            return f"{maps} maps of a warp, {_LANES} at most"
        if (threads := _threads(problem, config)) > self.machine.block_threads:
            return f"{threads} threads a block, {self.machine.block_threads} at most"
        shared, most = _shared(problem, config), self.machine.block_shared_bytes
        return f"{shared} bytes of shared memory of {most}" if shared > most else None

    def macros(self, problem: Conv2dInputGradient, config: Config) -> dict[str, int | str]:
        rows, many = _window_rows(problem, config["BANDS"]), self._resident(problem, config)
        return {**super().macros(problem, config), "WINDOW_ROWS": rows, "BLOCKS": many}

    def steps(self, problem: Conv2dInputGradient, config: Config) -> tuple[Step, ...]:
        """One kernel; a block has few bands, so that blocks that begin late, because another kernel
        runs, end with the others."""
        bands = problem.batch * config["BANDS"]
        beside = self.machine.multiprocessors * self._resident(problem, config)
        across = min(bands, max(beside, blocks(bands, config["BLOCK_BANDS"])))
        grid, shared = (across, blocks(problem.channels, _CHANNELS), 1), _shared(problem, config)
        block = _threads(problem, config), 1, 1
        launch = Launch(self.kernel(), grid, block, shared, overlaps=True, concurrent=True)
        return (Step(launch, (*arguments_of(problem), problem.batch)),)

    def _resident(self, problem: Conv2dInputGradient, config: Config) -> int:
        """Blocks of a multiprocessor."""
        shared, many = _shared(problem, config), _RESIDENT_THREADS // _threads(problem, config)
        fitting = (n for n in range(many, 1, -1) if shared <= self.machine.shared_room(n))
        return next(fitting, 1)


def _window_rows(problem: Conv2dInputGradient, bands: int) -> int:
    """The most rows of windows that meet a band of pixels."""
    assert problem.pool is not None
    high, rows, size = problem.pool.window[0], problem.layer.output_size[0], problem.mask[0]
    met = []
    for begin in range(0, problem.height, blocks(problem.height, bands)):
        end = min(problem.height, begin + blocks(problem.height, bands))
        first = max(0, begin + problem.padding[0] - size + 1) // high
        last = min(rows - 1, (end - 1 + problem.padding[0]) // high)
        met.append(last - first + 1)
    return max(1, *met)


def _threads(problem: Conv2dInputGradient, config: Config) -> int:
    return 32 * _window_rows(problem, config["BANDS"]) * config["GROUPS"]


def _shared(problem: Conv2dInputGradient, config: Config) -> int:
    """Bytes of the masks, and of what each warp's row of windows meets."""
    assert problem.pool is not None
    (high, wide), columns = problem.pool.window, problem.layer.output_size[1]
    masks = problem.maps * blocks(problem.mask[0], 4) * 32
    met = columns * wide + _COLUMNS - _STEP
    swath = (high + problem.mask[0] - 1) * (met + (met - 1) // _COLUMNS)
    warps = _threads(problem, config) // 32
    return 16 * (masks + warps * swath)


STRATEGY = Swept()
