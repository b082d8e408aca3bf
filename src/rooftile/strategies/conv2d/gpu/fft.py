"""`fft`: the convolution as a product of Fourier transforms; precision `fast`.

Overlap-save in tiles: the cost of an output no longer grows with the mask's area, so it
is for large masks.  Transforms are float32: an output's error depends on its whole
tile's magnitude, hence `fast`.  Outputs of a tile with an infinity or NaN in inputs or
weights are computed directly, so that they propagate as IEEE says.

Source: Oppenheim, Schafer, "Discrete-Time Signal Processing", 3rd ed., section 8.7;
Mathieu, Henaff, LeCun, "Fast Training of Convolutional Networks through FFTs" (2013).
"""

from __future__ import annotations

import math

import numpy as np

from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.common.grid import tile_of
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.conv2d.gpu._base import MOST_BLOCKS, blocks
from rooftile.strategies.conv2d.gpu._slices import SlicedConv2d

_TILES = (16, 32, 64)
_SPECTRUM_BYTES = 2**30
"""Largest transformed weights that are held."""


class Fft(SlicedConv2d):
    """Takes stride 1, and masks up to half the largest tile."""

    name = "fft"
    summary = "overlap-save with Fourier transforms of tiles in shared memory"
    takes = features(
        "activation:* boundary:interior,replicate padding pool.activation:* pool:average,l2,max"
    )
    precision = "fast"
    transforms = True
    apart = "bias, activation and pool"
    summing = "multiply"
    tunables = (
        Tunable("TILE", _TILES, 32),
        Tunable("THREADS", (64, 128, 256, 512), 256),
        Tunable("THREAD_MAPS", (1, 2, 4, 8), 4),
        Tunable("THREAD_TILES", (1, 2, 4, 8), 4),
    )

    def limits(self, problem: Conv2d) -> str | None:
        if problem.conv_span != problem.conv_read:
            return "the pool's windows leave gaps, whose outputs the transforms would compute"
        reasons = [_unfit(problem, tile) for tile in _TILES]
        return reasons[-1] if all(reasons) else None

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        """The tile with the least arithmetic, and no more maps a thread than there are."""
        maps = tile_of(problem.maps, 1, 4)
        return {**super().defaults(problem), "TILE": _best_tile(problem), "THREAD_MAPS": maps}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        return _unfit(problem, config["TILE"])

    def tables(self, problem: Conv2d, config: Config) -> dict[str, Float32]:
        turns = 2 * np.pi * np.arange(config["TILE"] // 2) / config["TILE"]
        return {"waves": np.concatenate([np.cos(turns), np.sin(turns)]).astype(np.float32)}

    def workspace(self, problem: Conv2d, config: Config) -> dict[str, int]:
        masks = 2 * problem.maps * problem.channels * _frequencies(config["TILE"])
        return {"masks": masks, **super().workspace(problem, config)}

    def preparation(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        grid = (problem.maps * problem.channels, 1, 1)
        launch = Launch(self.kernel("transform_weights"), grid, (config["THREADS"], 1, 1))
        return (Step(launch, ("weights", "masks")),)

    def image_floats(self, problem: Conv2d, config: Config) -> dict[str, int]:
        """Spectra of the inputs and of the outputs, and the sums."""
        spectrum = 2 * _frequencies(config["TILE"]) * _tiles(problem, config["TILE"])
        return {
            "spectra": spectrum * problem.channels,
            "products": spectrum * problem.maps,
            "sums": problem.maps * math.prod(problem.conv_read),
        }

    def slice_steps(
        self, problem: Conv2d, config: Config, first: int, images: int
    ) -> tuple[Step, ...]:
        """Transform, multiply, transform back, finish."""
        tiles, block = _tiles(problem, config["TILE"]), (config["THREADS"], 1, 1)
        depth, constants = min(images, MOST_BLOCKS), ("waves",)
        transform = Launch(
            self.kernel("transform_input"),
            (tiles, min(problem.channels, MOST_BLOCKS), depth),
            block,
            constants=constants,
        )
        grid = (
            blocks(_frequencies(config["TILE"]), config["THREADS"]),
            blocks(problem.maps, config["THREAD_MAPS"]),
            min(blocks(images * tiles, config["THREAD_TILES"]), MOST_BLOCKS),
        )
        multiply = Launch(self.kernel("multiply"), grid, block)
        back = Launch(
            self.kernel("transform_output"),
            (tiles, min(problem.maps, MOST_BLOCKS), depth),
            block,
            constants=constants,
        )
        results = images * math.prod(problem.output_shape[1:])
        finish = Launch(self.kernel("finish"), (blocks(results, config["THREADS"]), 1, 1), block)
        return (
            Step(transform, ("x", "spectra", first, images)),
            Step(multiply, ("masks", "spectra", "products", images * tiles)),
            Step(back, ("x", "weights", "products", "sums", first, images)),
            Step(finish, ("sums", "bias", "out", first, images)),
        )


STRATEGY = Fft()


def _frequencies(tile: int) -> int:
    """Kept frequencies of a tile."""
    return tile * (tile // 2 + 1)


def _tiles(problem: Conv2d, tile: int) -> int:
    """Tiles that cover an image."""
    sizes = zip(problem.conv_read, problem.mask, strict=True)
    return math.prod(blocks(length, tile - mask + 1) for length, mask in sizes)


def _unfit(problem: Conv2d, tile: int) -> str | None:
    """Why a tile cannot be used: its spectra, or fewer than half of it outputs."""
    if 2 * max(problem.mask) > tile:
        return f"a mask of {problem.mask} exceeds half of a tile of {tile}"
    size = 8 * problem.maps * problem.channels * _frequencies(tile)
    if size > _SPECTRUM_BYTES:
        return f"the transformed weights would take {size / 2**30:.1f} GiB"
    return None


def _best_tile(problem: Conv2d) -> int:
    """The usable tile with the least arithmetic."""

    def work(tile: int) -> float:
        transforms = 5 * tile**2 * math.log2(tile) * (problem.channels + problem.maps)
        products = 8 * _frequencies(tile) * problem.channels * problem.maps
        return _tiles(problem, tile) * (transforms + products)

    return min((tile for tile in _TILES if _unfit(problem, tile) is None), key=work)
