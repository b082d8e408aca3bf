"""Rung 4, `blocked`: explicit vectors of outputs, a register block of images, one kernel.

A register block of images x two vectors of outputs is summed over a block of
inputs; a loaded vector of weights serves every image of the block, a broadcast
input both vectors.  Weights are packed so that a block reads them in a row.

A unit of work is one panel of outputs (two vectors) for one chunk of images.  So a
single image is shared by all cores, each of which streams its own part of the
weights once; and of a large batch each core takes whole chunks.

An output's sum has one order, whatever the batch, the image's place in it, the
threads and the vector's width: block by block of inputs, each block summed from
zero in order with fused multiply-adds, the blocks' sums added to the bias in
order.  Hence a prediction does not depend on the batch, not even in its last bit;
and a long sum is made of short ones, which keeps its rounding error small.

Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
ACM Trans. Math. Softw. 34 (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rooftile.devices.cpu import CpuDevice
from rooftile.devices.cpu.native import Native, source, vector
from rooftile.ops import AnyArray, Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.cpu import BoundKernel, CpuKernel, CpuStrategy
from rooftile.strategies.linear.cpu import _rows_source
from rooftile.strategies.linear.cpu._blocked_pack import pack, packed_size, panels_of
from rooftile.strategies.linear.cpu._blocked_source import generate
from rooftile.strategies.linear.cpu._rows_source import IMAGES

_CHUNK_IMAGES, _LARGE_CHUNK = 32, 64
"""The block of inputs of so many images and a panel's block of weights fit the second-level cache
together, with room to spare.  Each chunk reads all weights, so that chunks are large where these
fill that cache; else, smaller ones leave fewer cores without one."""
_CACHED_WEIGHTS = 2**18
"""Weights that stay in a second-level cache."""

_BLOCK_INPUTS = 448
"""At most so many inputs are summed in one go; longer sums are hardly faster, and round worse."""


_MANY_WEIGHTS = 2**16
"""Fewer are packed in less time than a kernel of their own takes to bind."""


class Blocked(CpuStrategy):
    """Takes every problem."""

    operation = "linear"
    name = "blocked"
    order = 4
    summary = "explicit vectors of outputs, images blocked in registers, inputs in cache"

    def why_not(self, problem: Linear) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Linear) -> CpuKernel:
        """See `CpuStrategy.kernel`."""
        return linear_kernel(problem, vector.lanes(), vector.registers())

    def once(
        self, problem: Linear, parameters: Sequence[AnyArray], device: CpuDevice
    ) -> BoundKernel | None:
        """See `HostStrategy.once`: for few images, and weights that lie as [outputs, inputs]."""
        weights, bias = parameters
        if problem.batch > IMAGES[0] or weights.size < _MANY_WEIGHTS:
            return None
        if not weights.flags.c_contiguous:
            return None
        kernel = rows_kernel(problem, vector.lanes())
        return BoundKernel(kernel, weights, bias, problem.inputs, device.threads)


STRATEGY = Blocked()


def _inputs_of_block(problem: Linear) -> int:
    """How many inputs are summed in one go; both kernels cut alike, so that bits are the same."""
    blocks = -(-problem.inputs // _BLOCK_INPUTS)
    return -(-problem.inputs // blocks)


def linear_kernel(problem: Linear, lanes: int, registers: int) -> CpuKernel:
    """The kernel for a problem in vectors of so many lanes, with so many of them in registers."""
    panels, packed = (
        panels_of(problem.outputs, lanes),
        packed_size(problem.outputs, problem.inputs, lanes),
    )
    chunk = _CHUNK_IMAGES if packed <= _CACHED_WEIGHTS else _LARGE_CHUNK
    return CpuKernel(
        _compiled(lanes, registers),
        units=lambda images: -(-images // chunk) * panels,
        pack=lambda weights, into, threads: pack(weights, into, lanes, threads),
        packed=packed,
        sizes=(
            problem.inputs,
            problem.outputs,
            _inputs_of_block(problem),
            chunk,
            ACTIVATION_CODES[problem.activation],
        ),
    )


def rows_kernel(problem: Linear, lanes: int) -> CpuKernel:
    """The kernel that reads the weights where they lie, in vectors of so many lanes."""
    vectors = -(-problem.outputs // lanes)
    return CpuKernel(
        _rows_compiled(lanes),
        units=lambda images: vectors,
        scratch=lanes,
        sizes=(
            problem.inputs,
            problem.outputs,
            _inputs_of_block(problem),
            ACTIVATION_CODES[problem.activation],
        ),
    )


@cache
def _rows_compiled(lanes: int) -> Native:
    functions = {"activate_row": activate_row}
    return source("linear_rows", _rows_source.generate(lanes), functions, lanes=lanes)


@cache
def _compiled(lanes: int, registers: int) -> Native:
    return source(
        "linear_blocked", generate(lanes, registers), {"activate_row": activate_row}, lanes=lanes
    )
