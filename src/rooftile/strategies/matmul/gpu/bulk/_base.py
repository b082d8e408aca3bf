"""Rungs in 16 bits on Hopper's warpgroups, both matrices from shared memory.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies.
"""

from __future__ import annotations

import numpy as np

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops.matmul import Matmul
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.warpgroups import elements, product
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu.mma._base import MOST_SUMMED
from rooftile.strategies.matmul.gpu._base import GpuMatmul
from rooftile.strategies.matmul.gpu.warpgroups._base import few_products

_ROUND_THREADS = 256
_SLICE, _PIECE = 64, 8
"""Terms of a slice, and elements of 16 bytes."""
_MOST_STAGES, _MOST_REGISTERS, _COPIER_REGISTERS = 8, 240, 24
_OTHER_REGISTERS = 30
"""Registers that a thread wants beside its sums."""


class Bulk(GpuMatmul):
    """Takes matrices whose lines are whole 16 bytes of 16-bit numbers."""

    devices = ("cuda",)
    architectures = ("sm_90",)
    tensor_cores = True
    source = "bulk"
    summing = "matmul"
    tunables = (
        Tunable("WARPGROUPS", (1, 2), 2),
        Tunable("TILE_C", (64, 128, 256), 256),
        Tunable("CLUSTER", (1, 2), 2),
    )

    def why_not(self, problem: Matmul) -> str | None:
        """Lines that the copy engine cannot bring, and sums that are too long."""
        for array in problem.arrays[:2]:
            if array.shape[1] % _PIECE:
                return f"{array.name} has lines of {array.shape[1]}: it takes multiples of {_PIECE}"
        if problem.inner > MOST_SUMMED:
            return f"{problem.inner} products summed by the cores, at most {MOST_SUMMED}"
        return super().why_not(problem)

    def why_slow(self, problem: Matmul) -> str | None:
        """Few rows, or products."""
        return few_products(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The largest tile that gives every multiprocessor one."""
        for tile in (256, 128, 64):
            config = {"WARPGROUPS": 2, "TILE_C": tile, "CLUSTER": 2 if tile > 64 else 1}
            down, across = self._clusters(problem, config)
            if down * across * config["CLUSTER"] >= self.machine.multiprocessors:
                break
        return config

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        """A share of columns that is no whole box; too few stages, or registers."""
        if config["TILE_C"] // config["CLUSTER"] < 64:
            return f"{config['CLUSTER']} blocks share {config['TILE_C']} columns in boxes of 64"
        if self._stages(config) < 2:
            return "no two stages fit"
        held = config["TILE_C"] // 2 + _OTHER_REGISTERS
        entry = self.machine.register_room(_threads(config))
        return f"{held} registers where threads begin with {entry}" if held > entry else None

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        """How the matrices lie, the cores' type, what shared memory holds, the instruction."""
        cores = CORES[self.precision]
        across = bool(problem.transpose_a), not problem.transpose_b
        sums = elements("(sum)", config["TILE_C"] // 2)
        return {
            **super().macros(problem, config),
            "CORES": cores.word,
            "STAGES": self._stages(config),
            "ROUND_THREADS": _ROUND_THREADS,
            "CONSUMER_REGISTERS": self._registers(config),
            "PAIRED": int(problem.columns % 2 == 0),
            "WGMMA(sum, a, b, more)": product(cores, sums, ["a"], "b", "more", across),
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        """Both matrices in 16 bits, unless they come so."""
        if config["X_NARROW"]:
            return {}
        a, b = problem.arrays[:2]
        return {"narrow_a": a.size // 2, "narrow_b": b.size // 2}

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        """Round both matrices, unless they come in 16 bits, then multiply."""
        a, b = problem.arrays[:2]
        prefix = "" if config["X_NARROW"] else "narrow_"
        rows, share = 64 * config["WARPGROUPS"], config["TILE_C"] // config["CLUSTER"]
        boxes = (
            (_SLICE, 64) if problem.transpose_a else (rows, _SLICE),
            (share, _SLICE) if problem.transpose_b else (_SLICE, 64),
        )
        maps = (
            TensorMap(prefix + array.name, array.shape, box, 2)
            for array, box in zip((a, b), boxes, strict=True)
        )
        down, across = self._clusters(problem, config)
        most = self.machine.multiprocessors // config["CLUSTER"]
        count = min(down * across, most) * config["CLUSTER"]
        shared = self._stages(config) * (_stage(config) + 16)
        launch = Launch("matmul", (count, 1, 1), (_threads(config), 1, 1), shared)
        sizes = (problem.rows, problem.inner, problem.columns)
        product = Step(launch, (*maps, "out", *sizes, down, across))
        return (product,) if config["X_NARROW"] else (_rounding(problem), product)

    def _clusters(self, problem: Matmul, config: Config) -> tuple[int, int]:
        """Clusters' tiles down and across."""
        down = blocks(problem.rows, 64 * config["WARPGROUPS"] * config["CLUSTER"])
        return down, blocks(problem.columns, config["TILE_C"])

    def _stages(self, config: Config) -> int:
        """How many stages fit; barriers take 16 bytes each."""
        return min(_MOST_STAGES, self.machine.shared_room(1) // (_stage(config) + 16))

    def _registers(self, config: Config) -> int:
        """Registers of a thread that multiplies: what the threads that copy give up is shared
        out; 0 where they have enough."""
        if config["WARPGROUPS"] == 1:
            return 0
        threads = _threads(config)
        entry = min(_MOST_REGISTERS, self.machine.register_room(threads))
        rest = entry * threads - 128 * _COPIER_REGISTERS
        return min(_MOST_REGISTERS, rest // (threads - 128) // 8 * 8)


def _rounding(problem: Matmul) -> Step:
    eights = [array.size // _PIECE for array in problem.arrays[:2]]
    grid = (blocks(sum(eights), _ROUND_THREADS), 1, 1)
    launch = Launch("round_both", grid, (_ROUND_THREADS, 1, 1))
    return Step(launch, ("a", "b", "narrow_a", "narrow_b", *map(np.int64, eights)))


def _threads(config: Config) -> int:
    return 128 * (config["WARPGROUPS"] + 1)


def _stage(config: Config) -> int:
    """Bytes of a stage."""
    return 128 * (64 * config["WARPGROUPS"] + config["TILE_C"])
