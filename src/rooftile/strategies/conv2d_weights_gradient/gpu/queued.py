"""`queued`: warps queue the gradients that relu left, and take one of each queue at a time.

Source: Scherer, Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures",
ICANN 2010 (only the argmax has a gradient); Billeter, Olsson, Assarsson, "Efficient Stream
Compaction on Wide SIMD Many-Core Architectures", HPG 2009 (queues by ballots).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.contract.costs import Speeds
from rooftile.strategies.contract.gpu import Config, Tunable
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    PartialSums,
)

_LANES = _BANKS = 32
_MOST_SUMS = 128
"""Of a thread, in its registers."""
_LOOKS = 5
"""Looks of a warp at 32 windows before it takes their argmax: as many are in flight."""
_LEAST_WINDOWS = 128
"""Of a part of a map."""
_CUT_SHARE = 0.3
"""Share of the time that is left where relu cut windows, as in training: 409 us of an estimate of
1,533, 266 of 947 (lenet5's convolutions, 8,192 images, H200)."""
_RESIDENT_THREADS = 1024
"""Threads of a multiprocessor, with registers enough for each."""


class Queued(PartialSums):
    """Takes argmax gradients, of layers of which an image's channels fit shared memory."""

    name = "queued"
    devices = ("cuda",)
    least_architecture = 80
    summary = "warps queue what relu left by banks, one lane a row of a mask"
    tunables = (
        Tunable("TEAMS", (1, 2, 4, 8), 8),
        Tunable("PARTS", (1, 2, 4, 8), 1),
        Tunable("SPLITS", (1, 2, 4), 1),
    )

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        if problem.pool is None:
            return "it is for gradients behind a max-pool"
        if problem.mask[0] > _LANES:
            return f"a mask has {problem.mask[0]} rows, a warp {_LANES} lanes"
        return self.invalid(problem, self.defaults(problem))

    def estimate(
        self, problem: Conv2dWeightsGradient, machine: Speeds, *, once: bool = False
    ) -> float | None:
        """See `Strategy.estimate`. Costs are fitted to windows that all have a gradient; places of
        8 bits tell those that relu cut, which are not queued."""
        seconds = super().estimate(problem, machine, once=once)
        told = any(array.places and array.dtype == "uint8" for array in problem.input_arrays)
        return seconds if seconds is None or not told else _CUT_SHARE * seconds

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """Warps enough for a block, a map each where they can, else a part of one; more of them,
        and two blocks, where there are too few images for all multiprocessors."""
        few = problem.images < self.machine.multiprocessors
        splits, warps = (2, 16) if few and problem.maps > 1 else (1, 8)
        maps = blocks(problem.maps, splits)
        teams = min(8, 1 << (maps - 1).bit_length())
        most = max(1, _windows(problem) // _LEAST_WINDOWS)
        parts = min(warps // teams, 1 << most.bit_length() - 1)
        return {"TEAMS": teams, "PARTS": parts, "SPLITS": splits}

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        if (sums := _warp_maps(problem, config) * (problem.mask[1] + 1)) > _MOST_SUMS:
            return f"{sums} sums of a thread, {_MOST_SUMS} at most: more TEAMS"
        if (threads := _threads(config)) > self.machine.block_threads:
            return f"{threads} threads a block, {self.machine.block_threads} at most"
        shared, most = _shared(problem, config), self.machine.block_shared_bytes
        return f"{shared} bytes of shared memory of {most}" if shared > most else None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        lie = _lie(problem)
        return {
            **super().macros(problem, config),
            "BLOCKS": self._resident(problem, config),
            "GROUP_CHANNELS": _channels(problem),
            "SLOTS": _slots(problem),
            "LOOKS": _looks(problem, config),
            "RING": _ring(problem, config),
            "UNIT": lie.unit,
            "LAYERS": lie.layers,
            "PITCH": lie.pitch,
            "LAYER": lie.layer,
            "PLANE": lie.plane,
            "ZEROS": lie.zeros,
            "TILE": _tile(problem),
        }

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        grid = (self.rows(problem, config), *self._beside(problem, config))
        block, shared = (_threads(config), 1, 1), _shared(problem, config)
        return Launch(self.kernel(), grid, block, shared, overlaps=True, concurrent=True)

    def _beside(self, problem: Conv2dWeightsGradient, config: Config) -> tuple[int, int]:
        """Blocks of an image: groups of channels, and splits of the maps."""
        return blocks(problem.channels, _channels(problem)), config["SPLITS"]

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks that share out the images."""
        groups, splits = self._beside(problem, config)
        resident = self.machine.multiprocessors * self._resident(problem, config)
        return min(problem.images, max(1, resident // (groups * splits)))

    def _resident(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Blocks of a multiprocessor: as many as it holds, and as there are."""
        beside = problem.images * math.prod(self._beside(problem, config))
        shared, most = _shared(problem, config), blocks(beside, self.machine.multiprocessors)
        many = min(most, _RESIDENT_THREADS // _threads(config))
        fitting = (n for n in range(many, 1, -1) if shared <= self.machine.shared_room(n))
        return next(fitting, 1)


def _threads(config: Config) -> int:
    return _LANES * config["TEAMS"] * config["PARTS"]


def _warp_maps(problem: Conv2dWeightsGradient, config: Config) -> int:
    return blocks(blocks(problem.maps, config["SPLITS"]), config["TEAMS"])


def _channels(problem: Conv2dWeightsGradient) -> int:
    """Channels whose masks' rows a warp has lanes for."""
    return min(problem.channels, _LANES // problem.mask[0])


def _slots(problem: Conv2dWeightsGradient) -> int:
    """Number of argmax places that a warp takes at a time, a power of two."""
    return 1 << (_LANES // (_channels(problem) * problem.mask[0])).bit_length() - 1


def _windows(problem: Conv2dWeightsGradient) -> int:
    """Of a map, with those that make its rows whole slots."""
    rows, columns = problem.layer.output_size
    return rows * blocks(columns, _slots(problem)) * _slots(problem)


def _looks(problem: Conv2dWeightsGradient, config: Config) -> int:
    """See `_LOOKS`; of a part's windows the last times have few without one."""
    times = blocks(blocks(_windows(problem), config["PARTS"]), _LANES)
    return blocks(times, blocks(times, _LOOKS))


def _ring(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Argmax places that wait for a slot: a warp's looks find room where others are left."""
    share = _LANES // _slots(problem)
    return 1 << ((_looks(problem, config) + 1) * share - 1).bit_length()


class _Lie(NamedTuple):
    """The layout of a channel in shared memory."""

    unit: int
    """Columns from a window to the next, of which each has a layer of its own; 1 for one slot."""
    layers: int
    zeros: int
    """The first column behind a row of pixels that is of the first slot."""
    pitch: int
    layer: int
    plane: int


def _lie(problem: Conv2dWeightsGradient) -> _Lie:
    """Rows, layers and planes lie whole slots apart, so that the fewest lanes share a bank; behind
    a row there are zeros for a row of a mask in each slot."""
    assert problem.pool is not None
    slots, (above, left) = _slots(problem), problem.padding
    unit = problem.pool.stride[1] if slots > 1 else 1
    layers = problem.pool.window[1] + unit - 1 if slots > 1 else 1
    zeros = blocks(blocks(problem.width + 2 * left, unit), slots) * slots
    least = blocks(zeros + slots + (problem.mask[1] - 1) // unit, slots) * slots
    height = problem.height + 2 * above
    pitch, pad = _spread(_channels(problem), problem.mask[0], height * layers, least, slots)
    layer = blocks(height * pitch, _BANKS) * _BANKS if layers > 1 else height * pitch
    return _Lie(unit, layers, zeros, pitch, layer, layers * layer + pad)


@lru_cache
def _spread(channels: int, rows: int, height: int, least: int, slots: int) -> tuple[int, int]:
    """The pitch of rows, and the padding of a plane of ``rows`` rows, with the fewest shared
    banks."""

    def banks(lie: tuple[int, int]) -> tuple[int, int]:
        pitch, pad = lie
        plane = (0 if slots > 1 else height * pitch) + pad
        met = {(c * plane + p * pitch) % _BANKS for c, p in product(range(channels), range(rows))}
        return channels * rows - len(met), pitch

    pitches = range(least, least + _BANKS, slots)
    return min(product(pitches, range(0, _BANKS, slots)), key=banks)


def _tile(problem: Conv2dWeightsGradient) -> int:
    """Pixels of an image's channels, in whole vectors."""
    return blocks(_channels(problem) * _lie(problem).plane, 4) * 4


def _shared(problem: Conv2dWeightsGradient, config: Config) -> int:
    """Bytes of pixels and rings; later, in their place, of all warps' sums."""
    warps = _threads(config) // _LANES
    rings = 6 * (_ring(problem, config) + 8) * warps * _slots(problem)
    sums = _channels(problem) * problem.mask[0] * problem.mask[1] + 1
    joined = warps * _warp_maps(problem, config) * sums
    return max(4 * _tile(problem) + rings, 4 * joined)


STRATEGY = Queued()
