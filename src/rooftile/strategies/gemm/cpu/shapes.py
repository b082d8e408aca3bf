"""The register blocks of `blocked`, and how its images are cut and laid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rooftile.strategies.common.panels import ROW, Lie

BLOCK_INPUTS = 256
"""Largest number of inputs that are summed in one go: a register block's images' inputs stay in the
first-level cache. Longer sums round worse."""
PITCH = BLOCK_INPUTS + 17
"""Distance between copied images: neighbours do not reach the end of a cache line together."""
FILLED = ROW * BLOCK_INPUTS
"""float32 of a tile of panels that is filled in scratch: all images meet them there."""
ENDS = 28 * 16
"""float32 of the sums of a register block, before those in scratch: of the largest."""
_SMALL_CHUNKS = 8
"""Chunks of images, where weights stay in cache."""
_NARROW = 4
"""Panels of few outputs."""


@dataclass(frozen=True)
class Shapes:
    """Register blocks: heights in images, and widths in panels; the most first."""

    name: str
    heights: tuple[int, ...]
    """The last one is for fewer images, too."""
    widths: tuple[int, ...]
    images: Literal["given", "apart", "woven"]
    """The source of inputs: the images as they are given, copies of these a fixed distance apart,
    or a copy with each input of a block's images adjacent."""
    stays: Literal["images", "weights"]
    """The operand of a register block that stays in the first-level cache from one block to the
    next."""

    @property
    def least_rows(self) -> list[tuple[int, int]]:
        """Each height, and the least number of images for it."""
        return [(h, h if h != self.heights[-1] else 1) for h in self.heights]


def is_narrow(registers: int, panels: int) -> bool:
    """True if outputs are so few that weaving the inputs would take longer than it saves."""
    return registers < 32 and panels <= _NARROW


def shapes(registers: int, *, narrow: bool = False) -> tuple[Shapes, Shapes]:
    """The blocks for few images, and those for many.

    With 32 registers an instruction broadcasts the input that it multiplies: 28 images share a
    vector of weights.  With 16, a broadcast takes a register and serves two vectors; their weights
    are 2.5 times as many as the inputs of the 6 images, so that they are what stays in cache, and
    the inputs come from the second level, where the processor foresees one stream of them best;
    unless outputs are few (``narrow``).
    """
    if registers >= 32:
        few = Shapes("few", (4, 1), (4, 1), "given", stays="images")
        return few, Shapes("many", (28, 16, 8), (1,), "apart", stays="images")
    few = Shapes("few", (2, 1), (4, 1), "given", stays="images")
    return few, Shapes("many", (6,), (2, 1), "given" if narrow else "woven", stays="weights")


def chunk_images(registers: int, images: int, *, small: bool = False) -> int:
    """The number of images, in register blocks, whose copied inputs stay in the second-level cache.

    Each chunk reads all weights, and larger ones would leave cores without one. With 32 registers
    there are as few chunks as there can be, and then chunks of the tallest blocks alone are best.
    With 16, where the weights are so ``small`` that they stay in cache, chunks are, too: the thread
    that claims a share copies its chunk's images, once for many panels then.
    """
    if registers < 32:
        share = -(-images // (_SMALL_CHUNKS * 6)) * 6
        return min(max(share, 4 * 6), 24 * 6) if small else 24 * 6
    tallest, most = 4 * 28, 4 * 28 + 16
    return tallest if -(-images // tallest) == -(-images // most) else most


def scratch_size(images: int, lie: Lie | None = None) -> int:
    """float32 of a block's sums, of a tile of panels where weights come unpacked, and of the copied
    inputs of ``images`` images, and of the images that fill the last block."""
    return ENDS + (FILLED if lie else 0) + (images + 8) * PITCH
