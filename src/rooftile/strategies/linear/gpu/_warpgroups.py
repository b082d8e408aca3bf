"""Rungs on Hopper's warpgroups and bulk copy engine.

Sources: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies; for the split
products Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while
surpassing the FP32 theoretical peak performance", IJHPCA 36 (2022).
"""

from __future__ import annotations

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.strategies._grid import blocks
from rooftile.strategies._warpgroups import LEAST_SPLIT, elements, product, too_short
from rooftile.strategies.gpu import Config, Step, Tunable
from rooftile.strategies.linear.gpu._base import GpuLinear
from rooftile.strategies.linear.gpu._mma import CORES, HEADERS, MOST_SUMMED
from rooftile.strategies.linear.gpu._warpgroup_tiles import INSTRUCTION_REGISTERS, Shares, Tile

_THREADS = 256
"""Of a block of the kernels that are not the product."""
_PARTS = (1, 2, 3, 4, 5, 6, 8, 12, 16)
_CLOSE = 1.08
"""Estimates that differ by less are equal."""
_GROUPS, _TILES, _PAIRED = (1, 2, 4), (16, 32, 64, 128, 256), 128
"""Of the defaults, and the least tile that clusters of two share images for: others were slower
wherever they were timed."""


class Warpgroups(GpuLinear):
    """Rows of whole 16 bytes; split, sums long enough for the budget to hold their error."""

    devices = ("cuda",)
    architectures = ("sm_90",)
    source = "warpgroups"
    headers = ("_warpgroups.h", *HEADERS, "_warpgroup_weights.h", "_warpgroup_results.h")
    tunables = (
        Tunable("WARPGROUPS", (1, 2, 3, 4), 2),
        Tunable("TILE_O", (16, 32, 64, 128, 192, 256), 128),
        Tunable("CLUSTER", (1, 2, 4), 1),
        Tunable("PARTS", _PARTS, 1),
        Tunable("BLOCKS", (1, 2), 1),
        Tunable("HELD", (1, 2), 1),
    )

    def why_not(self, problem: Linear) -> str | None:
        """Rows that the copy engine cannot bring; sums too short to split, or too long."""
        piece = 8 if self.narrow else 4
        if problem.inputs % piece:
            return f"rows of {problem.inputs} inputs: the copy engine brings multiples of {piece}"
        if self._numbers == 2:
            return too_short(problem.reduction)
        if problem.inputs > MOST_SUMMED * _PARTS[-1]:
            return f"the cores sum up to {MOST_SUMMED} products in each of {_PARTS[-1]} parts"
        return None

    def defaults(self, problem: Linear) -> dict[str, int]:
        """The tile, cluster and parts that an estimate finds fastest, for rows of float32."""
        return self._fastest(problem, {})

    def config(self, problem: Linear, given: Config | None = None) -> dict[str, int]:
        """As of every strategy, but narrow rows have a default of their own."""
        values = super().config(problem, given)
        return {**values, **self._fastest(problem, values), **(given or {})}

    def _fastest(self, problem: Linear, formats: Config) -> dict[str, int]:
        narrow = formats.get("X_NARROW", 0)

        def clocks(config: Config) -> float:
            return self._shares(problem, {**config, "X_NARROW": narrow}).clocks

        times = [(clocks(config), config) for config in self._candidates(problem)]
        least = min(time for time, _ in times)
        # Images are converted once a tile, and clusters wait for each other: of those that are
        # about as fast, the widest tile, then the smallest cluster.
        close = [(-c["TILE_O"], c["CLUSTER"], t, c) for t, c in times if t <= _CLOSE * least]
        return min(close, key=lambda entry: entry[:3])[3]

    def _candidates(self, problem: Linear) -> list[dict[str, int]]:
        """Configs that can run, of tiles not wider than the outputs."""
        *_, parts, _, held = (tunable.values for tunable in self.tunables)
        found = []
        for tile in (t for t in _TILES if t == _TILES[0] or t < 2 * problem.outputs):
            clusters = (1, 2) if tile >= _PAIRED else (1,)
            for group, cluster in ((g, c) for g in _GROUPS for c in clusters):
                config = {"WARPGROUPS": group, "TILE_O": tile, "CLUSTER": cluster, "BLOCKS": 1}
                # Two pieces of images where registers hold them.
                for pieces in reversed(held):
                    config |= {"HELD": pieces}
                    shared = [{**config, "PARTS": share} for share in parts]
                    runs = [c for c in shared if self.invalid(problem, c) is None]
                    found += runs
                    if runs:
                        break
        return found

    def invalid(self, problem: Linear, config: Config) -> str | None:
        """Clusters of whole rows, shared memory, registers; sums too long for the cores.

        What can run with rows of float32 can with narrow ones, which take more of both.
        """
        shares = self._shares(problem, {**config, "X_NARROW": int(bool(self.narrow))})
        tile = shares.tile
        if shares.across % config["CLUSTER"]:
            return f"clusters of {config['CLUSTER']} blocks, {shares.across} tiles across"
        if tile.stages < 2:
            return f"stages of {tile.stage} bytes of shared memory"
        if tile.held > tile.registers:
            return f"{tile.held} registers a thread, where {tile.registers} are"
        least = tile.outputs // 2 + INSTRUCTION_REGISTERS
        if least > tile.entry:
            return f"{least} registers for one instruction, where threads begin with {tile.entry}"
        inputs = min(problem.inputs, blocks(shares.slices, shares.parts) * tile.slice)
        if inputs > MOST_SUMMED and self._numbers == 1:
            return f"{inputs} products summed by the cores, at most {MOST_SUMMED}"
        return None

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        """The cores' type, formats, what shared memory holds, the padded weights' sizes."""
        shares, tile = self._shares(problem, config), self._tile(config)
        images = ["a0", "a1", "a2", "a3"]
        return {
            "X_NARROW": 0,
            "OUT_NARROW": 0,
            **super().macros(problem, config),
            "CORES": tile.cores,
            "BFLOAT": int(self.precision == "bf16"),
            "NUMBERS": tile.numbers,
            "LEAST_SPLIT": f"{LEAST_SPLIT.hex()}f",
            "PACK_THREADS": _THREADS,
            "PADDED_OUTPUTS": shares.across * tile.outputs,
            "PADDED_INPUTS": shares.slices * tile.slice,
            "STAGES": tile.stages,
            "BOXES": tile.boxes,
            "CONSUMER_REGISTERS": tile.registers if config["WARPGROUPS"] > 1 else 0,
            "WGMMA(sum, a0, a1, a2, a3, b, more)": product(
                self.precision, elements("(sum)", tile.outputs // 2), images, "b", "more"
            ),
        }

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        """The weights in the cores' type, and every part's sums, where there are several."""
        shares, tile = self._shares(problem, config), self._tile(config)
        arrays = {"rounded": shares.across * shares.slices * tile.weights // 4}
        if shares.parts > 1:
            arrays["partial"] = shares.parts * shares.most_apart * problem.outputs
        return arrays

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Round the weights, or split them, and lay them as the cores read them."""
        macros = self.macros(problem, config)
        count = int(macros["PADDED_OUTPUTS"]) * int(macros["PADDED_INPUTS"])
        grid = (blocks(count, _THREADS), 1, 1)
        return (Step(Launch("round_weights", grid, (_THREADS, 1, 1)), ("weights", "rounded")),)

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds the parts, where there are any."""
        shares, tile, images = self._shares(problem, config), self._tile(config), problem.batch
        rows = TensorMap(
            "x", (images, problem.inputs), (tile.rows // tile.boxes, tile.slice), 128 // tile.slice
        )
        cluster, shared = config["CLUSTER"], tile.stages * (tile.stage + 16)
        grid = (min(shares.works * cluster, shares.slots), 1, 1)
        launch = Launch("linear", grid, (tile.threads, 1, 1), shared)
        given = (rows, "x", "weights", "rounded", "bias", "out")
        partial = "partial" if shares.parts > 1 else "out"
        product = Step(launch, (*given, partial, images, shares.whole, shares.works))
        if not shares.apart:
            return (product,)
        grid = (blocks(shares.apart * problem.outputs, _THREADS), 1, 1)
        finish = Launch("finish", grid, (_THREADS, 1, 1))
        arrays = ("x", "weights", "partial", "bias", "out")
        return (product, Step(finish, (*arrays, images, shares.whole)))

    @property
    def _numbers(self) -> int:
        return 2 if self.precision == "ieee" else 1

    def _tile(self, config: Config) -> Tile:
        return Tile(config, CORES[self.precision], self._numbers)

    def _shares(self, problem: Linear, config: Config) -> Shares:
        return Shares(problem, self._tile(config))
