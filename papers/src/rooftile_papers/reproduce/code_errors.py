"""Errors in the documents' listings, each as a change of a right kernel that does the same.

The tests compile each and hold that it is caught: by the judge, or by the compiler.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

from rooftile.errors import InputError
from rooftile.ops import Problem, parse
from rooftile.strategies import strategy
from rooftile.strategies.contract.gpu import GpuStrategy


@dataclass(frozen=True)
class CodeError:
    """A listing's error, and the right rung's text that is changed to have it."""

    name: str
    document: str
    place: str
    what: str
    operation: str
    shape: str
    """A problem that it is wrong for, as ``--shape`` takes it."""
    rung: str
    before: str
    after: str
    config: dict[str, int] = field(default_factory=dict)
    compiles: bool = True

    @property
    def problem(self) -> Problem:
        """The problem of the shape."""
        return parse(self.operation, self.shape)

    def wrong(self, kind: str = "cuda") -> GpuStrategy:
        """The rung with the listing's error.  Raises `InputError` where the text has changed."""
        rung: Any = copy(strategy(self.operation, self.rung, kind))
        text = rung.whole_text
        if self.before not in text:
            raise InputError("text", repr(self.before), f"a part of {self.rung}'s text")
        rung.text = text.replace(self.before, self.after)
        found: GpuStrategy = rung
        return found


_COURSE = "course"
CODE_ERRORS = (
    CodeError(
        "a name that nobody declared", _COURSE, "lecture 3, grey kernel",
        "`greyOffset` is declared, `grayOffset` is used", "grayscale", "height=17,width=33",
        "naive", "image[", "grayImage[", compiles=False,
    ),
    CodeError(
        "the wrong divisor", _COURSE, "lecture 3, blur kernel",
        "its comment counts BLUR_SIZE x BLUR_SIZE pixels of a window of 2 BLUR_SIZE + 1",
        "box_blur", "height=17,width=33,radius=2", "naive",
        "(bottom - top + 1) * (right - left + 1)", "RADIUS * RADIUS",
    ),
    CodeError(
        "the last part of a tile", _COURSE, "lecture 23, OpenCL product of matrices",
        "K / TS tiles leave out what is left over", "matmul", "rows=20,inner=37,columns=19",
        "tiled_any", "start < inner", "start + TILE <= inner",
    ),
    CodeError(
        "one guard for both loads", _COURSE, "exam 1 of fall 2016, question 5",
        "a single test of both tiles' loads leaves out elements that exist", "matmul",
        "rows=20,inner=37,columns=19", "tiled_any", "in_b = start + ty < inner && j < columns;",
        "in_b = start + ty < inner && j < columns; in_a = in_b = in_a && in_b;",
    ),
    CodeError(
        "a store without a guard", _COURSE, "lectures 7 and 8, 1D convolutions",
        "the last block stores beyond the end", "conv1d", "length=1000,mask=3", "naive",
        "if (i >= outputs) return;", "", {"BLOCK": 256},
    ),
    CodeError(
        "tiles one row apart", _COURSE, "lecture 12, kernel of a convolutional layer",
        "h = blockIdx.y / W_grid + threadIdx.y lacks the tile's width", "conv2d",
        "channels=2,height=70,width=31,maps=3,mask=3", "tile_input",
        "int row = blockIdx.y * RESULTS_Y + i", "int row = blockIdx.y + i",
    ),
    CodeError(
        "every channel stores", _COURSE, "exams of fall 2017 and spring 2018, question 5",
        "the blocks of all channels store to one output instead of adding", "conv2d",
        "channels=6,height=10,width=11,maps=3,mask=3", "channels_atomic",
        "atomicAdd(sums + element, sum)", "sums[element] = sum", {"SLICE_CHANNELS": 1},
    ),
    CodeError(
        "a scan in place", _COURSE, "lecture 16, Kogge-Stone",
        "a thread reads what another overwrites in the same pass", "scan", "shape=700",
        "kogge_stone", ": IDENTITY;\n            __syncthreads();", ": IDENTITY;",
    ),
    CodeError(
        "threads that copy nothing", _COURSE, "lecture 16, scan with two buffers",
        "threads without a neighbour leave the next buffer as it is", "scan", "shape=700",
        "kogge_stone_double",
        "held[to + thread] = thread >= reach ? combined(held[from + thread - reach], own) : own;",
        "if (thread >= reach) held[to + thread] = combined(held[from + thread - reach], own);",
    ),
    CodeError(
        "the buffer before the last", _COURSE, "lecture 16, scan with two buffers",
        "after the swap the result is in the other buffer", "scan", "shape=700",
        "kogge_stone_double", ": held[from + thread];", ": held[to + thread];",
    ),
)  # fmt: skip
"""By document and place."""
