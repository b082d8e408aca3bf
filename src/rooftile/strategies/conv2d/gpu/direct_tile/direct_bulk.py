"""`direct_bulk`: the direct tile, its rows fetched by Hopper's bulk copy engine.

The best float32 kernel for many images of one channel.

Source: NVIDIA, "CUDA C++ Programming Guide", asynchronous data copies, section on the bulk copy
engine (TMA) and its barriers.
"""

from __future__ import annotations

from dataclasses import replace

from rooftile.analysis.accesses import Accesses
from rooftile.devices.gpu import Launch
from rooftile.ops import Conv2d, Float32
from rooftile.ops.features import features
from rooftile.strategies.contract.gpu import Config, Fill, Step
from rooftile.strategies.conv2d.gpu._base import blocks
from rooftile.strategies.conv2d.gpu.direct_tile._tile import tile_of
from rooftile.strategies.conv2d.gpu.direct_tile.direct_tile import DirectTile

_RESIDENT = 6
"""Blocks for which a multiprocessor has room: they hide each other's beginnings."""
_FIXED = {"BLOCK_BANDS": 1, "BLOCK_GROUPS": 1, "TILE_CHANNELS": 1, "TAPS_CONSTANT": 1}
"""`direct_tile`'s tunables that whole images and literal taps leave no choice of."""


class DirectBulk(DirectTile):
    """Takes one channel without ghost cells, in images that fit shared memory."""

    name = "direct_bulk"
    devices = ("cuda",)
    least_architecture = 90
    summary = "the direct tile, rows fetched by the bulk copy engine, no warp waits for another"
    takes = features("activation:* pool.activation:* pool:average,l2,max stride")
    tunables = tuple(tunable for tunable in DirectTile.tunables if tunable.name not in _FIXED)

    def limits(self, problem: Conv2d) -> str | None:
        if problem.channels > 1:
            return f"a thread sums one channel, not {problem.channels}"
        return super().limits(problem)

    def defaults(self, problem: Conv2d) -> dict[str, int]:
        one_group = replace(problem, maps=1 << (problem.maps - 1).bit_length())
        config = self.large(one_group)
        return {name: value for name, value in config.items() if name not in _FIXED}

    def invalid(self, problem: Conv2d, config: Config) -> str | None:
        config = {**config, **_FIXED}
        bands = blocks(problem.output_size[0], config["BAND_ROWS"])
        bytes_held = 4 * _held_size(problem, config) + 8 * bands
        room = self.machine.shared_room(_RESIDENT)
        for fails, reason in (
            (problem.maps > config["THREAD_MAPS"], "the taps of more maps than a thread sums"),
            (problem.height * problem.width % 4, "images begin at no multiple of 16 bytes"),
            (bytes_held > room, f"{bytes_held} bytes of an image a block"),
        ):
            if fails:
                return reason
        return super().invalid(problem, config)

    def macros(self, problem: Conv2d, config: Config) -> dict[str, int | str]:
        config = {**config, **_FIXED}
        return {**super().macros(problem, config), "HELD_SIZE": _held_size(problem, config)}

    def pack(self, problem: Conv2d, weights: Float32, config: Config) -> Float32:
        return super().pack(problem, weights, {**config, **_FIXED})

    def constants(self, problem: Conv2d, config: Config) -> dict[str, Fill]:
        return super().constants(problem, {**config, **_FIXED})

    def steps(self, problem: Conv2d, config: Config) -> tuple[Step, ...]:
        pixels = int(self.macros(problem, config)["BLOCK_PIXELS"])
        launch = Launch(self.kernel(), (problem.batch, 1, 1), (pixels, 1, 1), constants=("taps",))
        return (Step(launch, ("x", "bias", "out")),)

    def accesses(self, problem: Conv2d, config: Config) -> dict[str, Accesses]:
        """No model: the copy engine's reads pass by the L1 cache."""
        return {}


def _held_size(problem: Conv2d, config: Config) -> int:
    """Numbers of the rows that a block reads, windows beyond the last column included."""
    rows = blocks(problem.output_size[0], config["THREAD_ROWS"]) * config["THREAD_ROWS"]
    return tile_of(problem, {**config, "BAND_ROWS": rows})["TILE_SIZE"]


STRATEGY = DirectBulk()
