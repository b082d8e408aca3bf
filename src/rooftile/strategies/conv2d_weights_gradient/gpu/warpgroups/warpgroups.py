"""Rungs on Hopper's warpgroups.

Source: NVIDIA, "Parallel Thread Execution ISA", on ``wgmma`` and its matrix descriptors; NVIDIA,
CUTLASS, ``cute/arch/mma_sm90_desc.hpp``, on matrices that lie across without a swizzle; Scherer,
Müller, Behnke, "Evaluation of Pooling Operations in Convolutional Architectures", ICANN 2010 (only
winners have gradients).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.gradients.conv2d_weights_gradient import Conv2dWeightsGradient
from rooftile.strategies.common.cores import CORES, Cores, WgmmaStrategy
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.common.warpgroups import elements, wgmma_fence, wgmma_sparse, wgmma_wait
from rooftile.strategies.contract.gpu import Config, Tunable, family
from rooftile.strategies.conv2d_weights_gradient.gpu._base import (
    GpuWeightsGradient,
    PartialSums,
    columns_of,
)
from rooftile.strategies.conv2d_weights_gradient.gpu.warpgroups._layout import (
    CHANNELS,
    WARPS,
    Layout,
)

_WINDOW_COLUMNS = (2, 4)
_MOST_POSITIONS = 16
"""Of a window, by the bits that tell its argmax."""
_MOST_SUMS = 144
"""Of a thread, in its registers."""
_REGISTERS = 256
"""Of a thread that lays and one that multiplies: half of a block's threads each."""
_LAYS, _MULTIPLIES = 28, 24
"""Registers of either for addresses and loops."""
_PIECE_ADDRESS = 8
"""By how much a descriptor of the next eight columns is larger."""
_WORDS = 5
"""Of a thread for a step: four of gradients, and one that says which terms they are."""
_BEGIN = 128
"""Registers of every thread at first, which those that lay have fewer than."""
_MOST_PIECES = 20
"""Of eight columns, in an instruction: compilers have for one no more registers than threads begin
with."""


class Warpgroups(WgmmaStrategy, PartialSums):
    """Takes argmax gradients of windows of two or four columns and an even number of rows that do
    not overlap."""

    name = "warpgroups_{precision}"
    mends = True
    summary = (
        "argmax gradients by rows of positions on warpgroups, gradients and pixels in {numbers}"
    )
    stores: ClassVar[Mapping[str, str]] = {
        **GpuWeightsGradient.stores,
        "X_NARROW": "x:narrow",
        "DY_NARROW": "dy:narrow",
    }
    tunables = (Tunable("TOGETHER", (1, 2, 4, 8), 1),)

    scaled: ClassVar[bool] = False
    """True if powers of two scale the numbers."""

    @property
    def cores(self) -> Cores:
        return CORES["fp16" if self.scaled else self.precision]

    def limits(self, problem: Conv2dWeightsGradient) -> str | None:
        pool = problem.pool
        if pool is None or pool.stride != pool.window:
            return "it is for max-pools whose windows do not overlap"
        if pool.window[1] not in _WINDOW_COLUMNS:
            return f"windows of {pool.window} have neither two nor four columns"
        if pool.window[0] % 2:
            return f"windows of {pool.window} are no whole pairs of rows"
        if math.prod(pool.window) > _MOST_POSITIONS:
            return f"a window has {math.prod(pool.window)} positions, {_MOST_POSITIONS} at most"
        return self.invalid(problem, {"TOGETHER": 1})

    def defaults(self, problem: Conv2dWeightsGradient) -> dict[str, int]:
        """Two sets of words: one is made while products of the other run."""
        pair = {"TOGETHER": 2}
        return pair if self.invalid(problem, pair) is None else {"TOGETHER": 1}

    def invalid(self, problem: Conv2dWeightsGradient, config: Config) -> str | None:
        layout, together = Layout(problem), config["TOGETHER"]
        if layout.steps % together:
            return f"{layout.steps} steps are no whole sets of {together}"
        if layout.sums > _MOST_SUMS:
            return f"{layout.sums} sums of a thread, {_MOST_SUMS} at most"
        if not layout.turn_rows:
            return f"rows of {layout.units} units of pixels are more than a block brings"
        laying, given = _laying(layout, 1), _given(layout, config)
        if laying > given:
            return f"{laying} registers of a thread that lays, {given} are left"
        shared, room = _shared(layout, 2), self.machine.shared_room(1)
        return f"{shared} bytes of shared memory, {room} for a block" if shared > room else None

    def macros(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int | str]:
        layout = Layout(problem)
        stages = _stages(layout, self.machine.shared_room(1))
        sums, a = elements("(sum)", layout.sums), elements("(a)", config["TOGETHER"], _WORDS)
        return {
            **super().macros(problem, config),
            "DOWN": layout.down,
            "ACROSS": layout.across,
            "CHUNKS": layout.chunks,
            "TILE_ROWS": layout.tile_rows,
            "UNITS": layout.units,
            "TASKS": layout.tasks,
            "SUMS": layout.sums,
            "STAGE_BYTES": layout.stage_bytes,
            "CORES": self.cores.word,
            "SCALED": int(self.scaled),
            "KINDS": layout.kinds,
            "IN_TURN": int(layout.in_turn),
            "PRODUCTS(sum, a, terms, b)": _products(self.cores, sums),
            "STAGES": stages,
            "BARRIERS_AT": _before_barriers(layout, stages),
            **_roles(layout, config),
            "WGMMA_FENCE_SUMS(sum, a)": wgmma_fence(sums, a),
            "WGMMA_FENCE(sum, a)": wgmma_fence(sums, elements("(a)", _WORDS)),
            "WGMMA_WAIT_FOR(sum, a)": wgmma_wait(sums, "0", a),
            "WGMMA_WAIT_FOR_TERMS(a, later)": wgmma_wait((), "later", elements("(a)", _WORDS)),
        }

    def workspace(self, problem: Conv2dWeightsGradient, config: Config) -> dict[str, int]:
        doubts = problem.maps * problem.channels if self.scaled else 0
        return {"partial": self.rows(problem, config) * (columns_of(problem) + doubts)}

    def launch(self, problem: Conv2dWeightsGradient, config: Config) -> Launch:
        layout = Layout(problem)
        channels, maps, kinds = _beside(layout)
        grid = (self.rows(problem, config) // kinds, channels, maps * kinds)
        shared = _shared(layout, _stages(layout, self.machine.shared_room(1)))
        return Launch(self.kernel(), grid, (64 * WARPS, 1, 1), shared, overlaps=True)

    def rows(self, problem: Conv2dWeightsGradient, config: Config) -> int:
        """Rows of partial sums: blocks that share out the images, each kind of them."""
        beside = _beside(Layout(problem))
        across = max(1, self.machine.multiprocessors // math.prod(beside))
        return min(problem.images, across) * beside[2]


def _products(cores: Cores, sums: list[str]) -> str:
    """The products of a step: instructions of about as many columns."""
    pieces = len(sums) // 4
    each = blocks(pieces, blocks(pieces, _MOST_PIECES))
    parts = [
        wgmma_sparse(
            cores,
            sums[4 * first : 4 * (first + each)],
            elements("(a)", 4),
            f"(b) + {first * _PIECE_ADDRESS}",
            "terms",
            "1",
            b_lies_across=True,
        )
        for first in range(0, pieces, each)
    ]
    return "; ".join(parts)


def _beside(layout: Layout) -> tuple[int, int, int]:
    """Blocks that share out an image: by channels, by maps, and by rows of positions."""
    problem = layout.problem
    maps = blocks(problem.maps, layout.tile_maps)
    return blocks(problem.channels, CHANNELS), maps, layout.kinds


def _before_barriers(layout: Layout, stages: int) -> int:
    """Bytes of the stages; or of the sums, to be joined."""
    return max(stages * layout.stage_bytes, layout.joined_bytes)


def _shared(layout: Layout, stages: int) -> int:
    """Bytes of those, and of two barriers a stage."""
    return _before_barriers(layout, stages) + 16 * stages


def _laying(layout: Layout, ahead: int) -> int:
    """Registers of a thread that holds ``ahead`` images on their way to the stages."""
    return ahead * layout.held() + _LAYS


def _given(layout: Layout, config: Config) -> int:
    """Registers, by eights, that threads which multiply leave to one that lays."""
    multiplying = layout.sums + _WORDS * config["TOGETHER"] + _MULTIPLIES
    return min(_BEGIN - 8, _REGISTERS - blocks(multiplying, 8) * 8)


def _roles(layout: Layout, config: Config) -> dict[str, int | str]:
    """Registers of both roles; two images ahead, where registers hold them, or one."""
    laying = _given(layout, config)
    return {
        "AHEAD": 2 if _laying(layout, 2) <= laying else 1,
        "LAYING_REGISTERS": laying,
        "MULTIPLYING_REGISTERS": _REGISTERS - laying,
    }


def _stages(layout: Layout, room: int) -> int:
    """Three, where they fit, so that products need not be complete before the next begin."""
    return 3 if _shared(layout, 3) <= room else 2


class WarpgroupsTf32(Warpgroups):
    """Gradients and pixels rounded to float16, of as many bits as TF32, and scaled; sums in
    float32."""

    name = "warpgroups_tf32"
    precision = "tf32"
    scaled = True
    summary = "argmax gradients by rows of positions on warpgroups, in scaled float16"


STRATEGIES = (
    *family(Warpgroups(), "fp16", "bf16"),
    WarpgroupsTf32(),
)
