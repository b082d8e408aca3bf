"""`streamed_ieee`: the turned product with float32's error, in two launches. Source: for the split
products Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
the FP32 theoretical peak performance", IJHPCA 36 (2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.ops.patterns.matmul import Matmul
from rooftile.strategies.common.cores import CORES, WgmmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import brought, laid, operands
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.gemm.gpu.warpgroups.product import THREADS, macros_of
from rooftile.strategies.gemm.gpu.warpgroups.split import split_products
from rooftile.strategies.gemm.gpu.warpgroups.tiles import Shares, SplitTile
from rooftile.strategies.matmul.gpu._base import GpuMatmul

_ROWS, _PARTS = (16, 32, 64), (1, 2, 4)
_TILE, _SLICE, _PIECE = 64, 32, 4
"""Columns of b of a tile, terms of a slice, and float32 of 16 bytes, in which the copy engine
counts lines."""
_GROUPS, _COPIERS, _COPIER_REGISTERS = 2, 128, 24
"""Warpgroups that multiply, and threads of the one that copies."""
_MOST_STAGES, _MOST_REGISTERS = 16, 240
_THREADS_BESIDE, _BYTES_BESIDE = 128, 4096
"""Threads of the product whose registers, and shared memory, are left for a block that splits: so
the launches overlap."""
_OF_LAYER = {"WARPGROUPS": 1, "CLUSTER": 1, "BLOCKS": 1, "SUM_O": 64}


@dataclass(frozen=True)
class _Shares:
    """The shares of a product."""

    problem: Matmul
    config: Config
    machine: Multiprocessors

    @property
    def slices(self) -> int:
        """Of the terms."""
        return blocks(self.problem.inner, _SLICE)

    @property
    def stage(self) -> int:
        """Bytes: of b, and of both numbers of a."""
        return 4 * _SLICE * (_TILE + self.config["TILE_O"])

    @property
    def stages(self) -> int:
        """Number of stages that fit; barriers take 16 bytes each."""
        room = self.machine.shared_room(1) - _BYTES_BESIDE - self._known
        return min(_MOST_STAGES, room // (self.stage + 16))

    @property
    def shared_bytes(self) -> int:
        """Of a block: stages with their barriers, and what is known of rows and columns."""
        return self.stages * (self.stage + 16) + self._known

    @property
    def _known(self) -> int:
        """Bytes: two numbers of each part of a row of a, and of each part's and warpgroup's columns
        of b."""
        return 8 * self.config["PARTS"] * (self.config["TILE_O"] + _GROUPS * _TILE)

    @property
    def registers(self) -> int:
        """Of a thread that multiplies: what those that copy give up is shared out."""
        threads = 128 * _GROUPS
        each = self.machine.register_room(_COPIERS + threads + _THREADS_BESIDE)
        rest = each * (_COPIERS + threads) - _COPIER_REGISTERS * _COPIERS
        return min(_MOST_REGISTERS, rest // threads // 8 * 8)

    @property
    def tiles(self) -> int:
        """Of columns."""
        return blocks(self.problem.columns, _TILE)

    @property
    def blocks(self) -> int:
        """Of the product."""
        return self.tiles * self.config["PARTS"]


class StreamedIeee(WgmmaStrategy, GpuMatmul):
    """Takes a b whose lines are whole 16 bytes, and an a that is not transposed and whose lines
    are, too."""

    name = "streamed_ieee"
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("TILE_O", _ROWS, 64),
        Tunable("PARTS", _PARTS, 2),
    )
    summary = "Hopper's warpgroups in turns, b split on its way to the cores, for few rows"
    takes = features("transpose_b")

    def limits(self, problem: Matmul) -> str | None:
        if problem.transpose_a or problem.rows > _ROWS[-1]:
            return f"it takes up to {_ROWS[-1]} rows of an a that is not transposed"
        for array in problem.arrays[:2]:
            if array.shape[1] % _PIECE:
                return f"{array.name} has lines of {array.shape[1]}: it takes multiples of {_PIECE}"
        return too_short(problem.inner) or super().limits(problem)

    def defaults(self, problem: Matmul) -> dict[str, int]:
        """The least tile that has all rows, and parts for all multiprocessors."""
        rows = next((rows for rows in _ROWS if rows >= problem.rows), _ROWS[-1])
        tiles = blocks(problem.columns, _TILE)
        # Multiprocessors come in groups; of larger clusters some do not fit.
        room = self.machine.multiprocessors
        parts = 4 if 4 * tiles <= room * 9 // 10 else 2 if 2 * tiles <= room else 1
        return {"TILE_O": rows, "PARTS": parts}

    def invalid(self, problem: Matmul, config: Config) -> str | None:
        if problem.rows > config["TILE_O"]:
            return f"{problem.rows} rows in a tile of {config['TILE_O']}"
        return None

    def macros(self, problem: Matmul, config: Config) -> dict[str, int | str]:
        shares, values = self._shares(problem, config), {**config, **_OF_LAYER}
        tile = SplitTile(values, CORES["fp16"], self.machine)
        # b turned is the layer's input, a its weights.
        layer = Linear(problem.columns, problem.inner, problem.rows)
        return {
            **macros_of(Shares(layer, tile), values),
            **split_products(tile),
            "STAGES": shares.stages,
            "CONSUMER_REGISTERS": shares.registers,
            "THREADS_BESIDE": _THREADS_BESIDE,
            "GROUPS": _GROUPS,
            "UNBIASED": 1,
            "OVERLAPS": 1,
            "TURNED": 1,
            "IMAGES": problem.columns,
            "X_ACROSS": int(not problem.transpose_b),
            "WEIGHTS_BY_INPUT": 0,
        }

    def workspace(self, problem: Matmul, config: Config) -> dict[str, int]:
        slices = self._shares(problem, config).slices
        numbers = _SLICE * slices * config["TILE_O"]
        return {"numbers": numbers, "row_scales": 2 * problem.rows * config["PARTS"]}

    def steps(self, problem: Matmul, config: Config) -> tuple[Step, ...]:
        shares, parts = self._shares(problem, config), config["PARTS"]
        grid = (config["TILE_O"] * parts, 1, 1)
        split = Launch(
            self.kernel("split_parts"), grid, (THREADS, 1, 1), overlaps=True, concurrent=True
        )
        grid, block = (shares.blocks, 1, 1), (_COPIERS + 128 * _GROUPS, 1, 1)
        launch = Launch(self.kernel(), grid, block, shares.shared_bytes, overlaps=True)
        box = (_TILE, _SLICE) if problem.transpose_b else (_SLICE, _SLICE)
        b = TensorMap("b", problem.arrays[1].shape, box, 4)
        return (
            Step(split, ("a", "row_scales", "numbers")),
            Step(launch, (b, "b", "a", "row_scales", "numbers", "out")),
        )

    def accesses(self, problem: Matmul, config: Config) -> dict[str, Accesses]:
        """A block that splits reads its part of a row twice.  The copy engine brings b once, and a
        for each tile; each product reads a's numbers."""
        shares = self._shares(problem, config)
        a, laid_out = problem.arrays[0].size, _SLICE * shares.slices * config["TILE_O"]
        found = brought(shares.tiles * shares.slices * _TILE * _SLICE, 4)
        found += brought(2 * shares.tiles * laid_out, 2)
        found += operands(shares.tiles * shares.slices * (128 * _TILE + 3 * 64 * config["TILE_O"]))
        found += row_stores(problem.columns, problem.rows)
        return {self.kernel("split_parts"): laid(2 * a, 2 * laid_out, 2), self.kernel(): found}

    def _shares(self, problem: Matmul, config: Config) -> _Shares:
        return _Shares(problem, config, self.machine)


STRATEGY = StreamedIeee()
