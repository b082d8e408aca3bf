"""`staged`: a block makes a channel of an image of an old one in shared memory.

Source: Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed., section 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rooftile.devices.gpu import Launch
from rooftile.ops.features import features
from rooftile.ops.layers.gather_batch import GatherBatch
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import PORTABLE_SHARED_BYTES, blocks
from rooftile.strategies.contract.gpu import Config, Step, Tunable
from rooftile.strategies.gather_batch.gpu._base import ARGUMENTS, GpuGatherBatch

_THREADS = 256
_ROW_BYTES = 16
"""Of shared memory for what a new row is made of."""
_BLOCKS, _MOST_PARTS = 512, 8
"""Blocks that a GPU runs about at once, and parts of an image that pay at most."""


class Staged(GpuGatherBatch):
    """Rows are resized along columns once, and shared by the new rows between two of them."""

    name = "staged"
    summary = "a block a channel of an image, of an old one in shared memory"
    tunables = (Tunable("PARTS", (1, 2, 3, 4, 5, 6, 7, 8), 1),)

    def defaults(self, problem: GatherBatch) -> dict[str, int]:
        """Blocks enough for small batches; larger ones stage each image fewer times."""
        pixels = blocks(problem.height * problem.width, _THREADS)
        return {"PARTS": min(pixels, _MOST_PARTS, max(1, _BLOCKS // problem.images))}

    def macros(self, problem: GatherBatch, config: Config) -> dict[str, int | str]:
        """And whether shared memory holds an old image, and its rows resized."""
        p = problem
        held = 4 * p.old_height * (p.old_width + p.width) + _ROW_BYTES * p.height
        staged = p.is_resized and held <= PORTABLE_SHARED_BYTES
        return {**super().macros(problem, config), "STAGED": int(staged)}

    def steps(self, problem: GatherBatch, config: Config) -> tuple[Step, ...]:
        """One kernel, a block a part of a channel of an image."""
        grid = (problem.images * problem.channels, config["PARTS"], 1)
        launch = Launch(self.kernel(), grid, (32, _THREADS // 32, 1), overlaps=True)
        return (Step(launch, ARGUMENTS),)


class NarrowStaged(Staged):
    """Rounds x to 16 bits on its way to memory."""

    source = "staged"
    stores: ClassVar[Mapping[str, str]] = {"OUT_NARROW": "x:narrow"}

    def macros(self, problem: GatherBatch, config: Config) -> dict[str, int | str]:
        """And the type of what is stored."""
        return {**super().macros(problem, config), "CORES": CORES[self.narrow].word}


class StagedFp16(NarrowStaged):
    """See `NarrowStaged`."""

    name = "staged_fp16"
    narrow = "fp16"
    summary = "the same; x is stored in float16"
    requires = features("storage:x:float16")


class StagedBf16(NarrowStaged):
    """See `NarrowStaged`."""

    name = "staged_bf16"
    narrow = "bf16"
    summary = "the same; x is stored in bfloat16"
    requires = features("storage:x:bfloat16")


STRATEGIES = (Staged(), StagedFp16(), StagedBf16())
