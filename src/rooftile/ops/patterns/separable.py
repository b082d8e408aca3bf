"""`separable`: a 2D filter whose mask is the product of a column and a row.

``out[n,i,j] = sum_q row[q] * (sum_p column[p] * x[n,i+p-T,j+q-L])`` with ``T = (len(column) - 1) //
2`` and ``L = (len(row) - 1) // 2``, or both 0 where only valid outputs are made: cross-correlation,
first with the column along the height, then with the row along the width. Ghost cells lie around x.

Source: PMPP, section 7.1; Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from rooftile import _blas
from rooftile.errors import InputError
from rooftile.ops.boundary import before, check_boundary, extended, outputs
from rooftile.ops.checks import check_computed, check_positive
from rooftile.ops.climbed import Climbed
from rooftile.ops.features import SIZE
from rooftile.ops.fields import LATER
from rooftile.ops.problem import Array, Computed, Float32, Float64, Problem

Around = Literal["zero", "replicate", "valid"]
"""The boundaries of images; see `rooftile.ops.boundary`."""
AROUND: tuple[Around, ...] = ("zero", "replicate", "valid")

_CHUNK = 2**15
"""Inputs whose outputs a thread of the reference makes at a time, in its caches."""
_SHRUNK = 256
"""Rows of the problem that a slow strategy's rate is estimated from."""


@dataclass(frozen=True)
class Separable(Problem):
    """x[height, width], column[mask[0]], row[mask[1]]; with ``rank`` 3 x[batch, height, width].

    Raises `InputError` where sizes do not fit.
    """

    operation: ClassVar[str] = "separable"
    words: ClassVar[str] = "{batch} images of {height} x {width}, mask of {mask}, border {boundary}"

    height: int
    width: int
    mask: tuple[int, int]
    boundary: Around = "zero"
    batch: int = field(default=1, metadata=SIZE)
    rank: int = field(default=2, metadata=SIZE)
    dtype: Computed = field(default="float32", metadata=LATER)

    def __post_init__(self) -> None:
        check_positive(
            height=self.height,
            width=self.width,
            column=self.mask[0],
            row=self.mask[1],
            batch=self.batch,
        )
        check_boundary(self.boundary, AROUND)
        check_computed(self.dtype)
        if self.rank not in (2, 3):
            raise InputError("rank", self.rank, "2, or 3 for x[batch, height, width]")
        if self.rank == 2 and self.batch != 1:
            raise InputError("rank", 2, "3 for several images")
        sizes = zip(("column", "row"), self.mask, (self.height, self.width), strict=True)
        for name, taps, size in sizes:
            if outputs(size, taps, self.boundary) < 1:
                raise InputError(name, f"{taps} taps", f"at most as many as the image has, {size}")

    @property
    def double(self) -> bool:
        return self.dtype == "float64"

    @property
    def before(self) -> tuple[int, int]:
        """Taps of column and row before the element that has its output's index."""
        return before(self.mask[0], self.boundary), before(self.mask[1], self.boundary)

    @property
    def output_size(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return (
            outputs(self.height, self.mask[0], self.boundary),
            outputs(self.width, self.mask[1], self.boundary),
        )

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """x, column, row, out."""
        batched = self.rank == 3
        images = (self.batch,) if batched else ()
        return (
            Array("x", (*images, self.height, self.width), self.dtype, batched=batched),
            Array("column", self.mask[:1], self.dtype, role="parameter"),
            Array("row", self.mask[1:], self.dtype, role="parameter"),
            Array("out", (*images, *self.output_size), self.dtype, role="output", batched=batched),
        )

    @property
    def affine(self) -> bool:
        """Always."""
        return True

    @property
    def reduction(self) -> int:
        """Terms of both sums, one after the other."""
        return sum(self.mask)

    @property
    def flops(self) -> int:
        """Two for each tap of the column and of the row of each output."""
        return 2 * self.batch * math.prod(self.output_size) * self.reduction

    def with_batch(self, batch: int) -> Separable:
        """The same problem for another batch.  Raises `InputError` where there is no batch axis."""
        if self.rank == 2:
            return super().with_batch(batch)
        return dataclasses.replace(self, batch=batch)

    def sizes(self) -> dict[str, int]:
        rows, columns = self.output_size
        return {"rows": rows, "columns": columns}

    def shrunk(self) -> Separable:
        height = min(self.height, self.mask[0] + _SHRUNK)
        return dataclasses.replace(self, batch=1, height=height)

    def random(self, seed: int) -> tuple[Float32, ...]:
        """Normal numbers; column and row are divided by the roots of their taps."""
        generator = np.random.default_rng(seed)
        x, *masks = self.given_arrays
        return (
            generator.standard_normal(x.shape, x.numpy),
            *(
                generator.standard_normal(m.shape, m.numpy) / m.numpy.type(math.sqrt(m.size))
                for m in masks
            ),
        )

    def reference(self, x: Float32, column: Float32, row: Float32) -> Float64:
        (rows, columns), around = self.output_size, extended(x, self.mask, self.boundary)
        images = around.reshape(-1, *around.shape[-2:])
        made = np.zeros((*x.shape[:-2], rows, columns))
        outs = made.reshape(-1, rows, columns)
        high = max(1, _CHUNK // around.shape[-1])
        bands = [(n, top) for n in range(len(outs)) for top in range(0, rows, high)]
        workers = min(_blas.threads(), len(bands))

        def work(worker: int) -> None:
            with np.errstate(all="ignore"):
                for n, top in bands[worker::workers]:
                    to = outs[n, top : top + high]
                    read = images[n, top : top + len(to) + len(column) - 1].astype(np.float64)
                    sums = np.zeros((len(to), read.shape[1]))
                    for p, tap in enumerate(column.astype(np.float64)):
                        sums += tap * read[p : p + len(to)]
                    for q, tap in enumerate(row.astype(np.float64)):
                        to += tap * sums[:, q : q + columns]

        _blas.share_out(work, workers)
        return made

    def magnitude(self, x: Float32, column: Float32, row: Float32) -> Float64:
        """Sum of |x||column||row| of each output's terms."""
        return self.reference(np.abs(x), np.abs(column), np.abs(row))

    def neighbours(self) -> tuple[Separable, ...]:
        """Images of primes, masks of even and odd sizes, and images smaller than their masks."""
        (high, wide), batch = self.mask, 1 if self.rank == 2 else 2
        sizes = [
            (67, 149, high, wide),
            (101, 131, max(1, high - 1), wide + 1),
            (37, 257, high + 1, max(1, wide - 1)),
        ]
        if self.boundary == "valid":
            sizes = [(max(h, p), max(w, q), p, q) for h, w, p, q in sizes]
        else:
            sizes.append((max(1, high // 3), max(1, wide // 3), high, wide))
        return tuple(
            dataclasses.replace(self, height=h, width=w, mask=(p, q), batch=batch)
            for h, w, p, q in sizes
        )

    def smallest(self) -> tuple[Separable, ...]:
        one = dataclasses.replace(self, height=1, width=1, mask=(1, 1), batch=1)
        sizes = ((1, 37, 1, 3), (37, 1, 3, 1), (5, 3, 5, 3))
        found = [dataclasses.replace(one, height=h, width=w, mask=(p, q)) for h, w, p, q in sizes]
        return (one, *found)


NAMED = {
    "image-1024-radius2": Separable(1024, 1024, (5, 5), "replicate"),
    "image-8192-radius2": Separable(8192, 8192, (5, 5)),
    "image-8192-radius8": Separable(8192, 8192, (17, 17)),
    "sobel-512": Separable(512, 768, (3, 3), "valid"),
    "thumbnails": (lambda batch: Separable(224, 224, (7, 7), "replicate", batch, 3), 256),
}
"""Named problems: a problem, or how to build one for a batch and the batch where none is given."""
LARGE = Climbed.of("image-8192-radius2")
