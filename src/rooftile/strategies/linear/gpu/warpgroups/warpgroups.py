"""Rungs on Hopper's warpgroups and bulk copy engine.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies.
"""

from __future__ import annotations

from typing import ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.strategies.common.cores import CORES, Cores
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import added_parts, brought, operands
from rooftile.strategies.common.warpgroups import elements, wgmma
from rooftile.strategies.gpu import Config, Step, Tunable, family
from rooftile.strategies.linear.gpu._base import GpuLinear, pays_for_many
from rooftile.strategies.linear.gpu.mma.mma import MOST_SUMMED
from rooftile.strategies.linear.gpu.warpgroups._tiles import Shares, Tile

THREADS = 256
"""Threads of a block of the kernels beside the product."""
TUNABLES = (
    Tunable("WARPGROUPS", (1, 2, 3, 4), 2),
    Tunable("TILE_O", (16, 32, 64, 128, 192, 256), 128),
    Tunable("CLUSTER", (1, 2, 4), 1),
    Tunable("PARTS", (1, 2, 3, 4, 5, 6, 8, 12, 16), 1),
    Tunable("BLOCKS", (1, 2), 1),
)
"""The tunables of all these rungs; each has one more, which takes registers that are to spare."""
_PARTS = TUNABLES[3].values
_CLOSE = 1.08
"""Estimates that differ by less are equal."""
_WARPGROUPS, _TILES, _PAIRED = (1, 2, 4), (16, 32, 64, 128, 256), 128
"""The values among which defaults are chosen, and the least tile for which clusters of two share
images: others were slower wherever they were timed."""


class Warpgroups(GpuLinear):
    """Rows of whole 16 bytes, and sums that the cores may make."""

    name = "warpgroups_{precision}"
    summary = "Hopper's warpgroups, converted in registers to {numbers}"
    devices = ("cuda",)
    architectures = ("sm_90",)
    tensor_cores = True
    source = "warpgroups"
    tunables: ClassVar[tuple[Tunable, ...]] = (*TUNABLES, Tunable("HELD", (1, 2), 1))
    tile: ClassVar[type[Tile]] = Tile
    most_summed: ClassVar[float] = MOST_SUMMED
    """The longest sum in the cores."""

    def limits(self, problem: Linear) -> str | None:
        """Rows that the copy engine cannot bring; sums that are too long."""
        piece = 8 if self.narrow else 4
        if problem.inputs % piece:
            return f"rows of {problem.inputs} inputs: the copy engine brings multiples of {piece}"
        if problem.inputs > self.most_summed * _PARTS[-1]:
            return f"the cores sum up to {self.most_summed} products in each of {_PARTS[-1]} parts"
        return None

    def why_slow(self, problem: Linear) -> str | None:
        """See `pays_for_many`."""
        return pays_for_many(problem)

    def defaults(self, problem: Linear) -> dict[str, int]:
        """The tile, cluster and parts that an estimate finds fastest, for rows of float32."""
        return self._fastest(problem, {})

    def config(self, problem: Linear, given: Config | None = None) -> dict[str, int]:
        """See `Strategy.config`; narrow rows have a default of their own."""
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
        extra = self.tunables[-1]
        found = []
        for tile in (t for t in _TILES if t == _TILES[0] or t < 2 * problem.outputs):
            clusters = (1, 2) if tile >= _PAIRED else (1,)
            for warpgroups, cluster in ((w, c) for w in _WARPGROUPS for c in clusters):
                config = {"WARPGROUPS": warpgroups, "TILE_O": tile, "CLUSTER": cluster, "BLOCKS": 1}
                # As much as registers hold.
                for most in reversed(extra.values):
                    config |= {extra.name: most}
                    shared = [{**config, "PARTS": share} for share in _PARTS]
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
        if tile.wanted > tile.entry:
            return (
                f"{tile.wanted} registers for one instruction, where threads begin with "
                f"{tile.entry}"
            )
        inputs = min(problem.inputs, blocks(shares.slices, shares.parts) * tile.slice)
        if inputs > self.most_summed:
            return f"{inputs} products summed by the cores, at most {self.most_summed}"
        return None

    def macros(self, problem: Linear, config: Config) -> dict[str, int | str]:
        """The cores' type, formats, what shared memory holds, the padded weights' sizes."""
        shares, tile = self._shares(problem, config), self._tile(config)
        return {
            "X_NARROW": 0,
            "OUT_NARROW": 0,
            **super().macros(problem, config),
            "CORES": tile.cores.word,
            "NUMBERS": tile.numbers,
            "PACK_THREADS": THREADS,
            "PADDED_OUTPUTS": shares.across * tile.outputs,
            "PADDED_INPUTS": shares.slices * tile.slice,
            "STAGES": tile.stages,
            "BOXES": tile.boxes,
            "CONSUMER_REGISTERS": tile.registers if config["WARPGROUPS"] > 1 else 0,
            **self._products(tile),
        }

    def _products(self, tile: Tile) -> dict[str, int | str]:
        """The instructions."""
        sums, images = elements("(sum)", tile.outputs // 2), ["a0", "a1", "a2", "a3"]
        instruction = wgmma(tile.cores, sums, images, "b", "more")
        return {"WGMMA(sum, a0, a1, a2, a3, b, more)": instruction}

    def workspace(self, problem: Linear, config: Config) -> dict[str, int]:
        """The weights in the cores' type, and every part's sums, where there are several."""
        shares, tile = self._shares(problem, config), self._tile(config)
        arrays = {"rounded": shares.across * shares.slices * tile.weights // 4}
        if shares.parts > 1:
            arrays["partial"] = shares.parts * shares.most_apart * problem.outputs
        return arrays

    def preparation(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """Round the weights, and lay them as the cores read them."""
        shares, tile = self._shares(problem, config), self._tile(config)
        count = shares.across * tile.outputs * shares.slices * tile.slice
        grid = (blocks(count, THREADS), 1, 1)
        return (
            Step(
                Launch(self.kernel("round_weights"), grid, (THREADS, 1, 1)), ("weights", "rounded")
            ),
        )

    def steps(self, problem: Linear, config: Config) -> tuple[Step, ...]:
        """One kernel over tiles and parts; another that adds the parts, where there are any."""
        return self._steps(problem, config, ("rounded",), ())

    def _steps(
        self, problem: Linear, config: Config, weights: tuple[str, ...], given: tuple[str, ...]
    ) -> tuple[Step, ...]:
        """The steps with the arrays that kernels read: ``weights`` are the prepared ones, and
        ``given`` those of the problem's that both kernels read."""
        shares, tile, images = self._shares(problem, config), self._tile(config), problem.batch
        rows = TensorMap(
            "x", (images, problem.inputs), (tile.rows // tile.boxes, tile.slice), 128 // tile.slice
        )
        grid = (min(shares.works * config["CLUSTER"], shares.slots), 1, 1)
        launch = Launch(self.kernel(), grid, (tile.threads, 1, 1), tile.shared_bytes)
        partial = "partial" if shares.parts > 1 else "out"
        arrays = (*given, *weights, "bias", "out", partial)
        multiply = Step(launch, (rows, *arrays, images, shares.whole, shares.works))
        if not shares.apart:
            return (multiply,)
        grid = (blocks(shares.apart * problem.outputs, THREADS), 1, 1)
        finish = Launch(self.kernel("finish"), grid, (THREADS, 1, 1))
        return (multiply, Step(finish, (*given, "partial", "bias", "out", images, shares.whole)))

    def accesses(self, problem: Linear, config: Config) -> dict[str, Accesses]:
        """The copy engine brings slices of images, once a cluster, and weights, once a tile; every
        warpgroup reads its images, and the weights once for each of their products.  Biases are
        not counted."""
        shares, tile = self._shares(problem, config), self._tile(config)
        tiles, size = shares.down * shares.across, 128 // tile.slice
        images = shares.down * tile.rows * shares.slices * tile.slice * shares.across
        found = brought(images / config["CLUSTER"], size)
        weights = tile.numbers * tile.outputs * tile.slice
        found += brought(tiles * shares.slices * weights, tile.weight_bytes)
        products = 2 * tile.numbers - 1
        read = 128 * tile.rows + products * config["WARPGROUPS"] * tile.weights // tile.numbers
        found += operands(tiles * shares.slices * read)
        whole = problem.batch - shares.apart
        found += row_stores(problem.outputs, whole + shares.parts * shares.apart, lanes=8)
        if not shares.apart:
            return {self.kernel(): found}
        finish = added_parts(shares.apart * problem.outputs, shares.parts)
        return {self.kernel(): found, self.kernel("finish"): finish}

    @property
    def cores(self) -> Cores:
        """What the cores multiply."""
        return CORES[self.precision]

    def _tile(self, config: Config) -> Tile:
        return self.tile(config, self.cores, self.machine)

    def _shares(self, problem: Linear, config: Config) -> Shares:
        return Shares(problem, self._tile(config))


STRATEGIES = family(Warpgroups(), "fp16", "bf16", "tf32")
