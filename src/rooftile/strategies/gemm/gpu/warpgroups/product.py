"""The matrix product on Hopper's warpgroups and bulk copy engine: what `linear` and `matmul` share.
Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and bulk copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rooftile.analysis.accesses import Accesses, row_stores
from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Linear
from rooftile.strategies.common.cores import MOST_SUMMED, WgmmaStrategy
from rooftile.strategies.common.fused import ACTIVATION_CODES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.product_accesses import added_parts, brought, operands
from rooftile.strategies.common.storage import item_bytes
from rooftile.strategies.common.warpgroups import elements, wgmma
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gemm.gpu.warpgroups.tiles import Shares, Tile

THREADS = 256
"""Threads of a block of the kernels besides the product."""
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


class WarpgroupsProduct(WgmmaStrategy):
    """Rows of whole 16 bytes, and sums that the cores may make.

    Comes before the base class of an operation.  Texts call matrices as a layer does: x, weights,
    out.
    """

    tunables: ClassVar[tuple[Tunable, ...]] = (*TUNABLES, Tunable("HELD", (1, 2), 1))
    tile: ClassVar[type[Tile]] = Tile
    most_summed: ClassVar[float] = MOST_SUMMED
    """The longest sum in the cores."""
    prepared: ClassVar[tuple[str, ...]] = ("rounded",)
    """The arrays of the workspace that hold the weights as the cores read them."""
    given: ClassVar[tuple[str, ...]] = ()
    """The arrays that both kernels read besides."""

    def layer(self, problem: Any) -> Linear:
        """The layer that multiplies so."""
        raise NotImplementedError

    def names(self, problem: Any) -> Mapping[str, Any]:
        """The problem's names of the layer's arrays, where they differ."""
        return {}

    def limits(self, problem: Any) -> str | None:
        inputs, piece = self.layer(problem).inputs, 8 if self._takes_16_bits else 4
        if reason := super().limits(problem):
            return reason
        if inputs % piece:
            return f"rows of {inputs} inputs: the copy engine brings multiples of {piece}"
        if inputs > self.most_summed * _PARTS[-1]:
            return f"the cores sum up to {self.most_summed} products in each of {_PARTS[-1]} parts"
        return None

    def defaults(self, problem: Any) -> dict[str, int]:
        """The tile, cluster and parts that an estimate finds fastest."""
        candidates = self._candidates(problem)
        times = [(self.shares(problem, config).clocks, config) for config in candidates]
        least = min(time for time, _ in times)
        # Images are converted once a tile, and clusters wait for each other: of those that are
        # about as fast, the widest tile, then the smallest cluster.
        close = [(-c["TILE_O"], c.get("CLUSTER", 1), t, c) for t, c in times if t <= _CLOSE * least]
        return min(close, key=lambda entry: entry[:3])[3]

    def clocks(self, problem: Any, config: Config) -> float:
        """See `GpuStrategy.clocks`: the tiles' own estimate."""
        return self.shares(problem, config).clocks

    def _candidates(self, problem: Any) -> list[dict[str, int]]:
        """Configs that can run, of tiles not wider than the outputs."""
        extra, outputs = self.tunables[-1], self.layer(problem).outputs
        found = []
        for tile in (t for t in _TILES if t == _TILES[0] or t < 2 * outputs):
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

    def invalid(self, problem: Any, config: Config) -> str | None:
        """Clusters of whole rows, shared memory, registers; sums too long for the cores. What can
        run with rows of float32 can with narrow ones, which take more of both."""
        shares = self.shares(problem, config, 2 if self._takes_16_bits else 4)
        tile = shares.tile
        if shares.across % tile.cluster:
            return f"clusters of {tile.cluster} blocks, {shares.across} tiles across"
        if tile.stages < 2:
            return f"stages of {tile.stage} bytes of shared memory"
        if tile.held > tile.registers:
            return f"{tile.held} registers a thread, where {tile.registers} are"
        if tile.wanted > tile.entry:
            return (
                f"{tile.wanted} registers for one instruction, where threads begin with "
                f"{tile.entry}"
            )
        inputs = min(shares.layer.inputs, blocks(shares.slices, shares.parts) * tile.slice)
        if inputs > self.most_summed:
            return f"{inputs} products summed by the cores, at most {self.most_summed}"
        return None

    def macros(self, problem: Any, config: Config) -> dict[str, int | str]:
        shares = self.shares(problem, config)
        return {**macros_of(shares, config), **self.products(shares.tile)}

    def products(self, tile: Tile) -> dict[str, int | str]:
        """The instructions."""
        sums, images = elements("(sum)", tile.outputs // 2), ["a0", "a1", "a2", "a3"]
        instruction = wgmma(tile.cores, sums, images, "b", "more")
        return {"WGMMA(sum, a0, a1, a2, a3, b, more)": instruction}

    def workspace(self, problem: Any, config: Config) -> dict[str, int]:
        shares = self.shares(problem, config)
        arrays = {"rounded": shares.across * shares.slices * shares.tile.weights // 4}
        if shares.parts > 1:
            arrays["partial"] = shares.parts * shares.most_apart * shares.layer.outputs
        return arrays

    def steps(self, problem: Any, config: Config) -> tuple[Step, ...]:
        shares, names = self.shares(problem, config), self.names(problem)
        layer, tile, given = shares.layer, shares.tile, self.given
        grid = (min(shares.works * tile.cluster, shares.slots), 1, 1)
        launch = Launch(self.kernel(), grid, (tile.threads, 1, 1), tile.shared_bytes)
        partial = "partial" if shares.parts > 1 else "out"
        arrays = (*given, *self.prepared, "bias", "out", partial)
        rows = self.rows(problem, shares)
        sizes = layer.batch, shares.whole, shares.works
        steps = [Step(launch, (rows, *_named(arrays, names), *sizes))]
        if shares.apart:
            grid = (blocks(shares.apart * layer.outputs, THREADS), 1, 1)
            finish = Launch(self.kernel("finish"), grid, (THREADS, 1, 1))
            arrays = (*given, "partial", "bias", "out")
            steps.append(Step(finish, (*_named(arrays, names), layer.batch, shares.whole)))
        return tuple(steps)

    def rows(self, problem: Any, shares: Shares) -> TensorMap:
        """The tensor map of x."""
        layer, tile = shares.layer, shares.tile
        box = (tile.rows // tile.boxes, tile.slice)
        name = self.names(problem).get("x", "x")
        return TensorMap(name, (layer.batch, layer.inputs), box, 128 // tile.slice)

    def accesses(self, problem: Any, config: Config) -> dict[str, Accesses]:
        """The copy engine brings slices of images, once a cluster, and weights, once a tile; every
        warpgroup reads its images, and the weights once for each of their products.  Biases are
        not counted."""
        shares = self.shares(problem, config)
        layer, tile = shares.layer, shares.tile
        tiles, size = shares.down * shares.across, 128 // tile.slice
        images = shares.down * tile.rows * shares.slices * tile.slice * shares.across
        found = brought(images / tile.cluster, size)
        weights = tile.numbers * tile.outputs * tile.slice
        found += brought(tiles * shares.slices * weights, tile.weight_bytes)
        products = 2 * tile.numbers - 1
        read = 128 * tile.rows + products * config["WARPGROUPS"] * tile.weights // tile.numbers
        found += operands(tiles * shares.slices * read)
        whole = layer.batch - shares.apart
        found += row_stores(layer.outputs, whole + shares.parts * shares.apart, lanes=8)
        if not shares.apart:
            return {self.kernel(): found}
        finish = added_parts(shares.apart * layer.outputs, shares.parts)
        return {self.kernel(): found, self.kernel("finish"): finish}

    @property
    def _takes_16_bits(self) -> bool:
        """True if a family's member may take rows of 16 bits."""
        return self.precision in ("fp16", "bf16")

    def shares(self, problem: Any, config: Config, x_bytes: int | None = None) -> Shares:
        """The shares of a config, for an x with elements of ``x_bytes`` bytes."""
        size = x_bytes or item_bytes(problem, "x")
        return Shares(self.layer(problem), self.tile(config, self.cores, self.machine, size))


def macros_of(shares: Shares, config: Config) -> dict[str, int | str]:
    """The layer's sizes, the tunables, the cores' type, formats, what shared memory holds, the
    padded weights' sizes."""
    layer, tile = shares.layer, shares.tile
    return {
        "X_NARROW": 0,
        "OUT_NARROW": 0,
        "INPUTS": layer.inputs,
        "OUTPUTS": layer.outputs,
        "ACTIVATION": ACTIVATION_CODES[layer.activation],
        "CLUSTER": tile.cluster,
        **config,
        "CORES": tile.cores.word,
        "NUMBERS": tile.numbers,
        "PACK_THREADS": THREADS,
        "PADDED_OUTPUTS": shares.across * tile.outputs,
        "PADDED_INPUTS": shares.slices * tile.slice,
        "STAGES": tile.stages,
        "BOXES": tile.boxes,
        "CONSUMER_REGISTERS": tile.registers if config["WARPGROUPS"] > 1 else 0,
    }


def _named(arrays: tuple[str, ...], names: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(names.get(array, array) for array in arrays)
