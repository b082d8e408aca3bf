"""Rungs on Hopper's warpgroups and bulk copy engine: an implicit matrix product.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and tensor copies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from rooftile.devices.gpu import Launch, TensorMap
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.cores import CORES, Cores, WgmmaStrategy
from rooftile.strategies.common.storage import is_last, is_narrow
from rooftile.strategies.common.warpgroups import elements, wgmma
from rooftile.strategies.contract.gpu import Config, Step, Tunable, family
from rooftile.strategies.contract.machine import Multiprocessors
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, GpuConv2d, blocks
from rooftile.strategies.conv2d.gpu.implicit_gemm._layout import MOST_BOX, Layout, layout_of

_PACK_PIXELS, PACK_THREADS = 32, 128
_MOST_SUMS = 192
"""Largest number of registers that a thread has for sums."""
_MOST_PIXELS = 256
_WORTH = 0.98
"""A smaller tile fetches more, so it must be so much faster."""
_FEW_RESULTS = 2**22
"""Of fewer results tiles may be too few for a GPU, so that blocks share them."""


class ImplicitGemm(WgmmaStrategy, GpuConv2d):
    """Takes no strides, and no pool or one of 2x2."""

    name = "implicit_gemm_{precision}"
    summary = "an implicit matrix product on warpgroups, patches by bulk copies, in {numbers}"
    takes = features("activation:* padding pool:average,max")

    stores: ClassVar[Mapping[str, str]] = {
        "X_NARROW": "x:narrow",
        "OUT_NARROW": "out:narrow",
        "X_LAST": "x:channels_last",
        "OUT_LAST": "out:channels_last",
    }
    numbers = 1
    """Numbers of the cores' type that stand for one value."""
    sums = 1
    """Kinds of sums that a thread holds for a result."""
    tunables: ClassVar[tuple[Tunable, ...]] = (
        Tunable("TILE_MAPS", (64, 128), 128),
        Tunable("PIXELS", (8, 16, 32, 64, 96, 128, 192, 208, 224, 240, 256), 256),
        Tunable("STRIPS", (0, 1), 1),
        Tunable("PATCHES", (1, 2, 3, 4), 2),
        Tunable("PARTS", (1, 2, 4, 8), 1),
    )

    def limits(self, problem: Conv2d) -> str | None:
        pool = problem.pool
        if pool is not None and (pool.window, pool.stride) != ((2, 2), (2, 2)):
            return "it pools 2x2 or not at all"
        return problem.why_not_first or self.invalid(problem, self.defaults(problem))

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The tile that takes the fewest cycles."""
        most = _MOST_SUMS // self.sums * 2
        return dict(_fastest(problem, self._cores, self.numbers, most, self.machine))

    def clocks(self, problem: Conv2d, config: Config) -> float:
        """See `GpuStrategy.clocks`: the layout's own estimate."""
        return self._layout(problem, config).cycles(self.machine)

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        layout, pixels = self._layout(problem, config), config["PIXELS"]
        sums, pooled = self.sums * pixels // 2, problem.pool is not None
        stages = self.numbers * layout.maps
        for fails, reason in (
            (
                pixels % 8 or pixels > _MOST_PIXELS,
                f"{pixels} pixels: eights up to {_MOST_PIXELS}",
            ),
            (sums > _MOST_SUMS, f"{sums} sums a thread, where registers hold {_MOST_SUMS}"),
            (stages > MOST_BOX, f"{stages} rows of weights a tap, a copy brings {MOST_BOX}"),
            (pooled and not layout.strips, "windows of a pool lie in a strip"),
            (pooled and pixels % 16, "strips of an odd number of rows cut windows of a pool"),
        ):
            if fails:
                return reason
        return _beyond(layout)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        layout, cores = self._layout(problem, config), self._cores
        return {
            **super().macros(problem, config),
            "CORES": cores.word,
            "ELEMENT_BYTES": cores.bytes,
            "NUMBERS": self.numbers,
            "PACK_PIXELS": _PACK_PIXELS,
            "PACK_THREADS": PACK_THREADS,
            "PADDED_CHANNELS": layout.image[-1],
            "PATCH_ROWS": layout.rows,
            "LINE": layout.line,
            "PATCH_BYTES": layout.patch_bytes,
            "STAGES": layout.stages,
            "RESIDENT": int(layout.resident),
            "TILES_OF_PIXELS": layout.tiles_of_pixels,
            "WEIGHTS": math.prod(layout.weights) // self.numbers,
            "WGMMA(sum, a, b, more)": wgmma(
                cores, elements("(sum)", layout.pixels // 2), ["a"], "b", "more"
            ),
        }

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        layout, size = self._layout(problem, config), self._cores.bytes
        spaces = {"stages": math.prod(layout.weights) * size // 4}
        if not self._reads_image(problem, config):
            spaces["packed"] = math.prod(layout.image) * size // 4
        return spaces

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        """The weights as `Layout.weights` says, but unsplit, with zeros up to whole tiles and
        chunks."""
        tiles, chunks, taps, _, maps, chunk = self._layout(problem, config).weights
        padded = np.zeros((tiles * maps, chunks * chunk, taps), weights.dtype)
        padded[: problem.maps, : problem.channels] = weights.reshape(*weights.shape[:2], taps)
        return padded.reshape(tiles, maps, chunks, chunk, taps).transpose(0, 2, 4, 1, 3)

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        count = math.prod(self._layout(problem, config).weights) // self.numbers
        launch = Launch(
            self.kernel("pack_weights"), (blocks(count, PACK_THREADS), 1, 1), (PACK_THREADS, 1, 1)
        )
        return (Step(launch, ("weights", "stages", count)),)

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        pack, multiply, maps = self._launches(problem, config)
        pack, multiply = (replace(launch, overlaps=True) for launch in (pack, multiply))
        product = Step(multiply, (*maps, "bias", "out", problem.batch))
        if self._reads_image(problem, config):
            return (product,)
        return (Step(pack, ("x", "packed", problem.batch)), product)

    def _reads_image(self, problem: Conv2d, config: Config) -> bool:
        """True if the engine copies from the image itself; it rounds to TF32."""
        own = self.precision == "tf32" or is_narrow(problem, "x")
        whole = problem.channels * self._cores.bytes % 16 == 0
        return bool(own and is_last(problem, "x")) and whole

    def _launches(
        self, problem: Conv2d, config: Config
    ) -> tuple[Launch, Launch, tuple[TensorMap, TensorMap]]:
        """The launches of both steps, and the tensor maps of the image and the weights."""
        layout, cores, images = self._layout(problem, config), self._cores, problem.batch
        runs = blocks(problem.height * problem.width, _PACK_PIXELS)
        grid = (runs, layout.chunks, min(images, MOST_BLOCKS))
        rows, chunk = math.prod(layout.weights[:-1]), layout.chunk
        as_it_lies = self._reads_image(problem, config)
        box = (1, layout.rows, layout.line, chunk)
        rounded = as_it_lies and cores.bytes == 4
        source = "x" if as_it_lies else "packed"
        patches = TensorMap(source, layout.image, box, cores.bytes, rounded)
        stages = TensorMap(
            "stages", (rows, chunk), (self.numbers * layout.maps, chunk), cores.bytes
        )
        # Blocks that share a tile take no other: their sums lie where its patches would.
        shares = images * layout.tiles
        resident = min(shares, self.machine.multiprocessors)
        grid_of_tiles = (resident if layout.parts == 1 else shares * layout.parts, 1, 1)
        multiply = Launch(self.kernel(), grid_of_tiles, (384, 1, 1), layout.shared_bytes)
        return (
            Launch(self.kernel("pack_image"), grid, (PACK_THREADS, 1, 1)),
            multiply,
            (patches, stages),
        )

    @property
    def _cores(self) -> Cores:
        return CORES["fp16" if self.numbers == 2 else self.precision]

    def _layout(self, problem: Conv2d, config: Config) -> Layout:
        return layout_of(problem, self._cores, self.numbers, config, self.machine)


def _beyond(layout: Layout) -> str | None:
    """Why a tile does not fit its copies or shared memory; None where it does."""
    if max(layout.rows, layout.line) > MOST_BOX:
        return f"patches of {layout.rows} x {layout.line}, where a copy brings {MOST_BOX} each way"
    if layout.stages < 2 and not layout.resident:
        return f"patches of {layout.rows} x {layout.line} leave no room for the weights"
    units = layout.chunks * layout.problem.mask[0]
    if layout.parts > units:
        return f"{layout.parts} parts of {units} rows of taps"
    return None


@lru_cache(maxsize=256)
def _fastest(
    problem: Conv2d, cores: Cores, numbers: int, most: int, machine: Multiprocessors
) -> tuple[tuple[str, int], ...]:
    """Of the configs that fit, the one that takes the fewest cycles; a later one, whose tile is
    smaller, where that is worth it.  The smallest where none fits."""
    best, least = _config(64, 16, 1, 1, 1), math.inf
    for config in _configs(problem, min(most, _MOST_PIXELS)):
        layouts = (
            layout_of(problem, cores, numbers, {**config, "PATCHES": patches}, machine)
            for patches in (2, 1)
        )
        layout = next((one for one in layouts if _beyond(one) is None), None)
        if layout is None or (config["PARTS"] > 1 and _crowded(layout, machine)):
            continue
        fewer = replace(layout, pixels=layout.pixels - (16 if problem.pool else 8))
        if fewer.pixels and fewer.tiles == layout.tiles:
            continue
        cycles = layout.cycles(machine)
        if cycles < _WORTH * least:
            best, least = {**config, "PATCHES": layout.patches}, cycles
    return tuple(best.items())


def _crowded(layout: Layout, machine: Multiprocessors) -> bool:
    """True if clusters may have to wait for each other: each wants its multiprocessors in one group
    of them, which half of all certainly offer."""
    return 2 * layout.problem.batch * layout.tiles * layout.parts > machine.multiprocessors


def _configs(problem: Conv2d, most: int) -> Iterator[dict[str, int]]:
    """Tiles that may be worth it, the larger ones first."""
    apart = 16 if problem.pool else 8
    few = problem.batch * math.prod(problem.conv_span) * problem.maps < _FEW_RESULTS
    for strips in (1,) if problem.pool else (0, 1):
        for maps in (128, 64) if problem.maps > 64 else (64,):
            for pixels in range(most, 0, -apart):
                for parts in (1, 2, 4) if few else (1,):
                    yield _config(maps, pixels, strips, 2, parts)


def _config(maps: int, pixels: int, strips: int, patches: int, parts: int) -> dict[str, int]:
    return {
        "TILE_MAPS": maps,
        "PIXELS": pixels,
        "STRIPS": strips,
        "PATCHES": patches,
        "PARTS": parts,
    }


STRATEGIES = family(ImplicitGemm(), "fp16", "bf16", "tf32")
