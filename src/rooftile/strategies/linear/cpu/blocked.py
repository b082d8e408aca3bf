"""`blocked`: explicit vectors of outputs, a register block of images, one kernel.

A register block of images x a vector of outputs is summed over a block of inputs.  With AVX-512
each instruction multiplies a loaded vector of weights by an input that it broadcasts itself: almost
nothing but multiplications is issued, also where another thread has half of the core.  For
that, a chunk's inputs are copied a fixed distance apart.  With AVX2 a broadcast is a load of its
own, and serves two vectors; there each input's images are copied beside each other, so that a block
reads one run of them, unless outputs are too few to pay for it.  Weights are packed so that a chunk
reads them in one run, some way ahead.  Few images are read where they are, by blocks of several
vectors of outputs.

A unit of work is one panel of outputs (a vector; with AVX2 two) for one chunk of images.  So a
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

from functools import cache

from rooftile.devices.cpu import CpuDevice
from rooftile.devices.cpu.native import Native, source, vector
from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.common.panels import Lie, pack, packed_size, packing_of, panels_of
from rooftile.strategies.cpu import CpuKernel, CpuStrategy, HostBound
from rooftile.strategies.cpu_kernel import LentKernel
from rooftile.strategies.linear.cpu import _rows_source
from rooftile.strategies.linear.cpu._blocked_source import generate
from rooftile.strategies.linear.cpu._rows_source import IMAGES
from rooftile.strategies.linear.cpu._shapes import (
    BLOCK_INPUTS,
    chunk_images,
    is_narrow,
    scratch_size,
    shapes,
)

_MANY_WEIGHTS = 2**14
"""Fewer are packed in no time."""


class Blocked(CpuStrategy):
    """Takes every problem."""

    operation = "linear"
    name = "blocked"
    summary = "explicit vectors of outputs, images blocked in registers, inputs in cache"
    takes = features("activation:*")

    def kernel(self, problem: Linear) -> CpuKernel:
        """See `CpuStrategy.kernel`."""
        return linear_kernel(problem, vector.lanes(), vector.registers())

    def once(self, problem: Linear, device: CpuDevice) -> HostBound | None:
        """See `HostStrategy.once`: for images that are one chunk, and many weights."""
        lanes, registers = vector.lanes(), vector.registers()
        if problem.inputs * problem.outputs < _MANY_WEIGHTS:
            return None
        if problem.batch <= IMAGES[0]:
            kernel = rows_kernel(problem, lanes)
        elif in_one_chunk(problem, registers):
            kernel = linear_kernel(problem, lanes, registers, "rows")
        else:
            return None
        call = LentKernel(kernel, problem.inputs, device.threads)
        return HostBound(self, problem, device, {}, call)


STRATEGY = Blocked()


def inputs_of_block(problem: Linear) -> int:
    """How many inputs are summed in one go; all kernels cut alike, so that bits are the same."""
    blocks = -(-problem.inputs // BLOCK_INPUTS)
    return -(-problem.inputs // (16 * blocks)) * 16


def in_one_chunk(problem: Linear, registers: int) -> bool:
    """Whether a panel of weights is read once, for all images: then it need not be kept."""
    return problem.batch <= chunk_images(registers, problem.batch)


def linear_kernel(
    problem: Linear, lanes: int, registers: int, lie: Lie | None = None, *, small: bool = False
) -> CpuKernel:
    """The kernel for a problem in vectors of so many lanes, with so many of them in registers.

    With ``lie`` it reads weights that lie so, and fills panels itself, for each chunk anew.  For
    ``small`` weights it has as many chunks as suit the problem's batch.
    """
    panels, step = panels_of(problem.outputs, lanes), inputs_of_block(problem)
    narrow = lie is None and is_narrow(registers, panels)
    chunk = chunk_images(registers, problem.batch, small=small or narrow)
    parts = -(-panels // shapes(registers)[1].widths[0])
    return CpuKernel(
        _compiled(lanes, registers, lie, narrow),
        units=lambda images: -(-images // chunk) * parts,
        pack=lambda weights, into, threads: pack(weights, into, step, lanes, threads),
        packing=packing_of(problem.outputs, problem.inputs, step, lanes),
        packed=packed_size(problem.outputs, problem.inputs, lanes),
        scratch=scratch_size(chunk, lie),
        sizes=(
            problem.inputs,
            problem.outputs,
            step,
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
            inputs_of_block(problem),
            ACTIVATION_CODES[problem.activation],
        ),
    )


@cache
def _rows_compiled(lanes: int) -> Native:
    functions = {"activate_row": activate_row}
    return source("linear_rows", _rows_source.generate(lanes), functions, lanes=lanes)


@cache
def _compiled(lanes: int, registers: int, lie: Lie | None, narrow: bool) -> Native:
    name = f"linear_{lie}_blocked" if lie else "linear_blocked"
    text = generate(lanes, registers, lie, narrow=narrow)
    return source(name, text, {"activate_row": activate_row}, lanes=lanes, passes="simplify")
