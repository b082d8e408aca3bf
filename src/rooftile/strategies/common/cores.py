"""Tensor cores' instructions, in the words of the texts and of PTX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rooftile.ops import FORMATS, Precision
from rooftile.strategies.contract.gpu import GpuStrategy

MOST_SUMMED = 8192
"""The longest sum in the cores, which cut off what does not fit instead of rounding."""


@dataclass(frozen=True)
class Cores:
    """A type of operands."""

    word: str
    """The value of the macro ``CORES``; see ``cores.h``."""
    ptx: str
    bytes: int

    @property
    def depth(self) -> int:
        """The depth of an instruction, in numbers: 32 bytes."""
        return 32 // self.bytes


CORES = {
    "tf32": Cores("TF32", "tf32", FORMATS["tf32"].bytes),
    "fp16": Cores("FLOAT16", "f16", FORMATS["fp16"].bytes),
    "bf16": Cores("BFLOAT16", "bf16", FORMATS["bf16"].bytes),
}
"""By the precision at which operands are rounded to it."""


class CoresStrategy(GpuStrategy):
    """A rung whose products tensor cores make.  Comes before the base class of an operation."""

    devices = ("cuda",)
    tensor_cores = True
    multiplied: ClassVar[Precision | None] = None
    """The type of the cores' operands, where it is not the rung's precision that says it."""

    @property
    def cores(self) -> Cores:
        return CORES[self.multiplied or self.precision]


class MmaStrategy(CoresStrategy):
    """By the instructions of a warp, ``mma.sync``."""

    least_architecture = 80


class WgmmaStrategy(CoresStrategy):
    """By the instructions of Hopper's warpgroups, ``wgmma``."""

    architectures = ("sm_90",)
