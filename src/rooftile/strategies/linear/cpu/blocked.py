"""`blocked`: explicit vectors of outputs, a register block of images, one kernel.

A register block of images x a vector of outputs is summed over a block of inputs. With AVX-512 each
instruction multiplies a loaded vector of weights by an input that it broadcasts itself: almost
nothing but multiplications is issued, also where another thread has half of the core. For that, a
chunk's inputs are copied a fixed distance apart. With AVX2 a broadcast is a load of its own, and
serves two vectors; there each input's images are copied adjacently, so that a block reads one run
of them, unless outputs are too few to pay for it. Weights are packed so that a chunk reads them in
one run, some way ahead. Few images are read where they are, by blocks of several vectors of
outputs.

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

from rooftile.devices.cpu import CpuDevice
from rooftile.devices.cpu.native import vector
from rooftile.ops import Linear
from rooftile.ops.features import features
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy, HostBound
from rooftile.strategies.contract.cpu_kernel import LentKernel
from rooftile.strategies.gemm.cpu.kernels import in_one_chunk, linear_kernel, rows_kernel
from rooftile.strategies.gemm.cpu.rows_source import IMAGES

_MANY_WEIGHTS = 2**14
"""Fewer are packed in no time."""


class Blocked(CpuStrategy):
    """Takes every problem."""

    operation = "linear"
    name = "blocked"
    summary = "explicit vectors of outputs, images blocked in registers, inputs in cache"
    takes = features("activation:*")

    def kernel(self, problem: Linear) -> CpuKernel:
        return linear_kernel(problem, vector.lanes(), vector.registers())

    def once(self, problem: Linear, device: CpuDevice) -> HostBound | None:
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
