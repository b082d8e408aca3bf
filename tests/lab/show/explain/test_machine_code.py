"""What is read from a kernel's machine code."""

from __future__ import annotations

import platform

import pytest

from rooftile.lab.show.explain.machine_code import busiest, busiest_loop
from rooftile.ops import Softmax, named
from rooftile.strategies import strategy

x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly of x86-64 is read")

TILE = """
entry:
    vxorps %xmm0, %xmm0, %xmm0
.LBB0_1:
    vbroadcastss (%rsi,%rax,4), %zmm3
.LBB0_2:
    vmovups (%rdi,%rax,4), %zmm2
    vfmadd231ps (%rdx), %zmm2, %zmm0
    vfmadd231ps %zmm3, %zmm2, %zmm1
    vfmadd231ps %zmm3, %zmm2, %zmm1
    vmulps %zmm2, %zmm3, %zmm4
    vmovups %zmm4, 64(%rsp)
    testq %rcx, %rcx
    je .LBB0_3
    incq %rax
.LBB0_3:
    jne .LBB0_2
    jne .LBB0_1
    vaddss %xmm5, %xmm6, %xmm6
    retq
"""


def test_the_innermost_loop_is_counted():
    loop = busiest(TILE)
    assert (loop.vector_operations, loop.scalar_operations, loop.lanes) == (4, 0, 16)
    assert loop.flops == 16 * (2 + 2 + 2 + 1)
    # zmm0 takes one step a pass, zmm1 two; zmm4 is new in each pass.
    assert (loop.chains, loop.longest_chain) == (2, 2)
    assert (loop.registers, loop.spills, loop.branches, loop.loads) == (5, 1, 1, 2)
    assert loop.chain_gflops(2.0) == loop.flops / 4


def test_without_a_loop_that_calculates_nothing_is_said():
    assert busiest("entry:\n.LBB0_1:\n incq %rax\n jne .LBB0_1\n") is None
    assert busiest("entry:\n vaddps %zmm0, %zmm1, %zmm1\n") is None


@x86
@pytest.mark.parametrize(
    ("problem", "name", "scalar", "branches"),
    [
        (named("conv2d", "lenet-conv1", 8), "loops", True, True),
        (named("conv2d", "lenet-conv1", 8), "register_tile", False, False),
        (named("conv2d", "lenet-conv1", 8), "winograd", False, False),
        (Softmax(8, 100), "loops", True, False),
        (Softmax(8, 100), "vectors", False, False),
    ],
)
def test_rungs_are_what_their_sentences_say(problem, name, scalar, branches):
    loop = busiest_loop(*strategy(problem.operation, name).native(problem))
    assert (loop.vector_operations == 0) == scalar
    assert (loop.branches > 0) == branches
    assert loop.mathematics == (
        ("expf",) if (problem.operation, scalar) == ("softmax", True) else ()
    )
