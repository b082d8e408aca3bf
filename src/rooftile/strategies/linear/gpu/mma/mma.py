"""Rungs on tensor cores by ``mma.sync``, for GPUs of compute capability 8.0 and later.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``mma`` and ``cp.async``; for the split products
Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.devices.gpu import Launch
from rooftile.ops import Linear
from rooftile.strategies.common.cores import MOST_SUMMED, MmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import added_parts, brought, operands
from rooftile.strategies.common.storage import item_bytes
from rooftile.strategies.common.warpgroups import too_short
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.linear.gpu._base import GpuLinear

THREADS = 256
"""Threads of a block of the kernels besides the product."""

_SLICE = 32
_PARTS = (1, 2, 3, 4, 6, 8, 16)
_PART_INPUTS = 256
"""Least inputs of a part: fewer do not pay for writing its sums and adding them."""
_PART_COST = 0.04
"""Cost of each part's sums, as a share of a product that one round of blocks computes."""
_MANY_IMAGES = 4096
_MOST_REGISTERS = 255


class Mma(MmaStrategy, GpuLinear):
    """Takes every sum that some number of parts makes short enough for the cores."""

    name = "mma_{precision}"
    summary = "tensor cores, rounded in registers to {numbers}"
    stores: ClassVar[Mapping[str, str]] = {"X_NARROW": "x:narrow", "OUT_NARROW": "out:narrow"}
    numbers = 1
    """Numbers of the cores' type that stand for one value."""
    tunables = (
        Tunable("WARP_B", (16, 32, 64, 80), 64),
        Tunable("WARP_O", (16, 32, 64), 64),
        Tunable("WARPS_B", (1, 2, 4), 2),
        Tunable("WARPS_O", (1, 2, 4), 2),
        Tunable("STAGES", (2, 3, 4, 5), 3),
        Tunable("BLOCKS", (1, 2, 3, 4), 2),
        Tunable("PARTS", _PARTS, 1),
    )

    def limits(self, problem: Linear) -> str | None:
        if problem.inputs > MOST_SUMMED * _PARTS[-1]:
            return f"the cores sum up to {MOST_SUMMED} products in each of {_PARTS[-1]} parts"
        return self.unfit(problem)

    def defaults(self, problem: Linear) -> dict[str, int]:
        """Large tiles for many images, else more and smaller ones; parts where those are few."""
        tile = {"WARP_B": 16, "WARP_O": 16, "WARPS_B": 4, "WARPS_O": 1, "STAGES": 4, "BLOCKS": 2}
        if problem.outputs > 16:
            tile |= {"WARP_O": 32}
            if self.numbers == 2 and problem.batch >= _MANY_IMAGES:
                # A warp splits its weights once for more images.
                tile |= {"WARP_B": 32}
        if problem.outputs > 32:
            tile |= {"WARP_B": 32, "WARPS_B": 2, "WARPS_O": 2, "STAGES": 3}
        if problem.outputs > 64 and problem.batch * problem.outputs >= 2**20:
            tile |= {"WARP_B": 64, "WARP_O": 32 if self.numbers == 2 else 64}
            taller = {**tile, "WARP_B": 80}
            if 80 * self._rounds(problem, taller, 1) < 64 * self._rounds(problem, tile, 1):
                tile = taller
        return {**tile, "PARTS": self._parts(problem, tile)}

    def _parts(self, problem: Linear, tile: Config) -> int:
        """Parts that keep the device busy to the end, and sums in the cores short."""
        costs = {
            parts: self._rounds(problem, tile, parts) / parts
            + _PART_COST * (parts if parts > 1 else 0)
            for parts in _PARTS
            if (parts == 1 or parts * _PART_INPUTS <= problem.inputs)
            and self._too_long(problem, parts) is None
        }
        return min(costs, key=lambda parts: costs[parts])

    def _rounds(self, problem: Linear, tile: Config, parts: int) -> int:
        """Number of times that blocks fill the device."""
        resident = tile["BLOCKS"] * self.machine.multiprocessors
        return blocks(parts * _tiles(problem, tile), resident)

    def _too_long(self, problem: Linear, parts: int) -> str | None:
        inputs = blocks(problem.inputs, parts)
        if inputs <= MOST_SUMMED:
            return None
        return f"{inputs} products summed by the cores, at most {MOST_SUMMED}"

    def invalid(self, problem: Linear, config: Config) -> str | None:
        shared, warps = self._shared(problem, config), config["WARPS_B"] * config["WARPS_O"]
        if shared > self.machine.shared_room(config["BLOCKS"]):
            return f"{config['BLOCKS']} blocks of {shared} bytes of shared memory"
        sums = config["WARP_B"] * config["WARP_O"] // 32
        held = sums + self.numbers * (config["WARP_O"] // 2 + 8) + self.other_registers(config)
        room = self.machine.register_room(32 * warps * config["BLOCKS"])
        if held > min(_MOST_REGISTERS, room):
            return f"{held} registers a thread, {32 * warps} threads, {config['BLOCKS']} blocks"
        return self._too_long(problem, config["PARTS"])

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        outputs, inputs = _padded(problem, config)
        return {
            **super().macros(problem, config),
            "CORES": self.cores.word,
            "NUMBERS": self.numbers,
            "PACK_THREADS": THREADS,
            "PADDED_OUTPUTS": outputs,
            "PADDED_INPUTS": inputs,
            "X_ALIGNED": int(problem.inputs % (16 // item_bytes(problem, "x")) == 0),
        }

    def other_registers(self, config: Config) -> int:
        """Registers of a thread besides its sums and operands."""
        return 48

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        outputs, inputs = _padded(problem, config)
        arrays = {"rounded": outputs * inputs * self._weight_bytes // 4}
        if config["PARTS"] > 1:
            arrays["partial"] = config["PARTS"] * problem.batch * problem.outputs
        return arrays

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        outputs, inputs = _padded(problem, config)
        grid = (blocks(outputs * inputs, THREADS), 1, 1)
        return (
            Step(
                Launch(self.kernel("round_weights"), grid, (THREADS, 1, 1)), ("weights", "rounded")
            ),
        )

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds the parts, where there are several."""
        return self._steps(problem, config, ("rounded",), ())

    def _steps(
        self, problem: Linear, config: Config, weights: tuple[str, ...], given: tuple[str, ...]
    ) -> tuple[Step, ...]:
        """The steps with the arrays that kernels read: ``weights`` are the prepared ones, and
        ``given`` the problem's that both kernels read."""
        parts, images = config["PARTS"], problem.batch
        warps = config["WARPS_B"] * config["WARPS_O"]
        shared = self._shared(problem, config)
        launch = Launch(
            self.kernel(), (_tiles(problem, config), parts, 1), (32 * warps, 1, 1), shared
        )
        arrays = tuple(dict.fromkeys(("x", *given, *weights, "bias")))
        if parts == 1:
            return (Step(launch, (*arrays, "out", images)),)
        grid = (blocks(images * problem.outputs, THREADS), 1, 1)
        finish = Launch(self.kernel("finish"), grid, (THREADS, 1, 1))
        return (
            Step(launch, (*arrays, "partial", images)),
            Step(finish, (*given, "partial", "bias", "out", images)),
        )

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """Slices of images and padded weights once a tile; a warp reads its own of each input.
        Biases are not counted."""
        (b, o), (outputs, inputs) = _tile(config), _padded(problem, config)
        down, across, size = blocks(problem.batch, b), outputs // o, item_bytes(problem, "x")
        piece = 16 // size if problem.inputs % (16 // size) == 0 else 1
        found = brought(problem.batch * problem.inputs * across, size, piece)
        weight = self._weight_bytes
        found += brought(outputs * inputs * down, weight, max(1, 16 // weight))
        read = config["WARP_B"] * size + config["WARP_O"] * weight
        warps = down * across * config["WARPS_B"] * config["WARPS_O"]
        found += operands(warps * inputs * read)
        parts, results = config["PARTS"], problem.batch * problem.outputs
        found += row_stores(problem.outputs, problem.batch * parts, lanes=8)
        if parts == 1:
            return {self.kernel(): found}
        return {self.kernel(): found, self.kernel("finish"): added_parts(results, parts)}

    @property
    def _weight_bytes(self) -> int:
        """Bytes of a weight in the cores' type."""
        return self.numbers * self.cores.bytes

    def _shared(self, problem: Linear, config: Config) -> int:
        """Bytes of a block's stages."""
        b, o = _tile(config)
        return config["STAGES"] * _SLICE * (b * item_bytes(problem, "x") + o * self._weight_bytes)


def _tile(config: Config) -> tuple[int, int]:
    """Images and outputs of a block."""
    return config["WARP_B"] * config["WARPS_B"], config["WARP_O"] * config["WARPS_O"]


def _tiles(problem: Linear, config: Config) -> int:
    b, o = _tile(config)
    return blocks(problem.batch, b) * blocks(problem.outputs, o)


def _padded(problem: Linear, config: Config) -> tuple[int, int]:
    """Outputs and inputs in whole tiles."""
    o = _tile(config)[1]
    return blocks(problem.outputs, o) * o, blocks(problem.inputs, _SLICE) * _SLICE


class MmaIeee(Mma):
    """A number is split in two of float16, three products stand for one, and the cores sum up
    little at a time."""

    name = "mma_ieee"
    multiplied = "fp16"
    numbers = 2
    summary = "tensor cores, float32 as two numbers of scaled float16"

    def limits(self, problem: Linear) -> str | None:
        return too_short(problem.reduction) or self.unfit(problem)

    def _too_long(self, problem: Linear, parts: int) -> str | None:
        """No sum is too long: the cores sum up a slice at a time."""
        return None

    def other_registers(self, config: Config) -> int:
        """Two more for each row of a lane, which say how large and how small its numbers are."""
        return super().other_registers(config) + config["WARP_B"] // 4

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        arrays = super().workspace(problem, config)
        return {"numbers": arrays.pop("rounded"), "row_scales": 2 * problem.outputs, **arrays}

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        (lay,) = super().preparation(problem, config)
        grid = (blocks(32 * problem.outputs, THREADS), 1, 1)
        split = Launch(self.kernel("split_weights"), lay.launch.grid, lay.launch.block)
        return (
            Step(
                Launch(self.kernel("measure_weights"), grid, (THREADS, 1, 1)),
                ("weights", "row_scales"),
            ),
            Step(split, ("weights", "row_scales", "numbers")),
        )

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        return self._steps(problem, config, ("row_scales", "numbers"), ("x", "weights"))


STRATEGIES = (*family(Mma(), "fp16", "bf16", "tf32"), MmaIeee())
