"""Kernels of the CPU that multiply rows by a matrix: `linear` and `matmul` run them."""

from __future__ import annotations

from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.ops import Linear
from rooftile.strategies.common.fused import ACTIVATION_CODES, activate_row
from rooftile.strategies.common.panels import Lie, pack, packed_size, packing_of, panels_of
from rooftile.strategies.contract.cpu_kernel import CpuKernel
from rooftile.strategies.gemm.cpu import rows_source
from rooftile.strategies.gemm.cpu.blocked_source import generate
from rooftile.strategies.gemm.cpu.shapes import (
    BLOCK_INPUTS,
    chunk_images,
    is_narrow,
    scratch_size,
    shapes,
)


def inputs_of_block(problem: Linear) -> int:
    """Number of inputs that are summed in one go; all kernels cut alike, so that bits are the
    same."""
    blocks = -(-problem.inputs // BLOCK_INPUTS)
    return -(-problem.inputs // (16 * blocks)) * 16


def in_one_chunk(problem: Linear, registers: int) -> bool:
    """True if a panel of weights is read once, for all images: then it need not be kept."""
    return problem.batch <= chunk_images(registers, problem.batch)


def linear_kernel(
    problem: Linear, lanes: int, registers: int, lie: Lie | None = None, *, small: bool = False
) -> CpuKernel:
    """The kernel for a problem in vectors of ``lanes`` lanes, with ``registers`` of them in
    registers.

    With ``lie`` it reads weights in that order, and fills panels itself, for each chunk anew. For
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
    """The kernel that reads unpacked weights, in vectors of ``lanes`` lanes."""
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


@last_kernels
def _rows_compiled(lanes: int) -> Native:
    functions = {"activate_row": activate_row}
    return source("linear_rows", rows_source.generate(lanes), functions, lanes=lanes)


@last_kernels
def _compiled(lanes: int, registers: int, lie: Lie | None, narrow: bool) -> Native:
    name = f"linear_{lie}_blocked" if lie else "linear_blocked"
    text = generate(lanes, registers, lie, narrow=narrow)
    return source(name, text, {"activate_row": activate_row}, lanes=lanes, passes="simplify")
