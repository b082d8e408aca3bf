"""Kernels of `register_tile` whose text would grow with the problem have loops instead."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rooftile.devices.cpu import open_device
from rooftile.devices.cpu.native import vector
from rooftile.devices.cpu.native.build import MOST_INSTRUCTIONS
from rooftile.lab.judge.verify import verify
from rooftile.ops import Conv2d, Pool
from rooftile.ops.layers.conv2d import NAMED
from rooftile.strategies import strategy
from rooftile.strategies.contract.cpu_kernel import BoundKernel, packed
from rooftile.strategies.conv2d.cpu._register_source import MOST_LINES, fitted, generate
from rooftile.strategies.conv2d.cpu.register_tile import choose_tile, tile_kernel

TILE, UNROLLED = strategy("conv2d", "register_tile"), strategy("conv2d", "unrolled")

LONG = {
    "a row": Conv2d(2, 1, 3, 300, 3, (1, 256)),
    "a row with stride 2": Conv2d(1, 1, 2, 3001, 5, (1, 256), (1, 2), (0, 100)),
    "a row with stride 3": Conv2d(1, 2, 3, 400, 4, (1, 97), (1, 3), (0, 7)),
    "a row with stride 20": Conv2d(1, 1, 2, 900, 2, (2, 131), (1, 20), (0, 5)),
    "a column": Conv2d(1, 2, 300, 21, 4, (256, 1)),
    "a column with stride 2": Conv2d(1, 1, 301, 37, 1, (243, 1), (2, 2)),
    "a square": Conv2d(1, 1, 70, 83, 2, (49, 51), (3, 3)),
    "wide ghost cells": Conv2d(1, 1, 3, 50, 2, (1, 201), padding=(0, 150)),
    "replicas with stride 2": Conv2d(
        1, 1, 3, 90, 2, (1, 141), (1, 2), (0, 70), boundary="replicate"
    ),
    "replicas with stride 11": Conv2d(
        1, 1, 3, 150, 2, (1, 61), (1, 11), (0, 30), boundary="replicate"
    ),
    "a tall pool": Conv2d(1, 3, 130, 40, 5, (3, 3), pool=Pool("max", (64, 2), (64, 2))),
    "an overlapping pool": Conv2d(1, 1, 70, 300, 5, (3, 9), pool=Pool("max", (21, 3), (2, 2))),
    "a large image": Conv2d(3, 16, 30, 150, 2, (29, 31), (3, 3)),
}


@pytest.mark.parametrize("problem", LONG.values(), ids=LONG.keys())
def test_a_text_with_loops_is_right(problem: Conv2d) -> None:
    """Rows, columns, phases, pools and prefetches that are not written out."""
    verify(problem, TILE, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("problem", [LONG["a row with stride 20"], LONG["replicas with stride 11"]])
def test_many_phases_are_staged_right(problem: Conv2d) -> None:
    """For another rung that stages rows."""
    verify(problem, UNROLLED, neighbours=False).raise_if_wrong()


@pytest.mark.parametrize("turn", [1, 2, 3, 6])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_every_turn_has_the_same_bits(turn: int, stride: int) -> None:
    """A loop takes the taps in the order of the text without one."""
    problem = Conv2d(1, 2, 19, 60, 3, (13, 7), (stride, stride), (0, 2))
    rng = np.random.default_rng(7)
    x, weights, bias = (rng.standard_normal(a.shape, np.float32) for a in problem.arrays[:3])
    tile = choose_tile(problem)
    for order in ("tap", "row"):
        block = dataclasses.replace(tile.block, rows=2, vectors=1, maps=2, order=order)
        plain = dataclasses.replace(tile, block=block)
        looped = dataclasses.replace(plain, turn=turn)
        whole, found = (_computed(one, x, weights, bias) for one in (plain, looped))
        np.testing.assert_array_equal(found, whole)


def _computed(tile, x, weights, bias):
    kernel, device = tile_kernel(tile), open_device()
    own = packed((weights, bias), kernel, device.threads)
    out = np.empty(tile.problem.output_shape, np.float32)
    BoundKernel(kernel, *own, x[0].size, device.threads)(x, out)
    return out


@pytest.mark.parametrize(("lanes", "registers"), [(8, 16), (16, 32)], ids=["avx2", "avx512"])
def test_no_text_of_random_problems_is_long(
    lanes: int, registers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 problems of long masks, wide rows, large strides, and pools of any size."""
    monkeypatch.setattr(vector, "lanes", lambda: lanes)
    monkeypatch.setattr(vector, "registers", lambda: registers)
    rng = np.random.default_rng(44)

    def most(limit: int) -> int:
        return int(np.exp(rng.uniform(0, np.log(limit + 0.99))))

    longest = 0
    for _ in range(200):
        tall, wide = [(1, most(400)), (most(400), 1), (most(60), most(60))][rng.integers(3)]
        down, across = most(9), most(40)
        pool = rng.choice(["none", "tiles", "overlaps"])
        window, step = (most(40), most(40)), (most(5), most(5))
        span = window if pool != "none" else (most(200), most(50_000))
        height, width = span[0] * down + tall, span[1] * across + wide
        made = {"tiles": Pool("max", window, window), "overlaps": Pool("max", window, step)}
        problem = Conv2d(
            1, most(64), height, width, most(64), (tall, wide), (down, across),
            (int(rng.integers(tall)), int(rng.integers(wide))), pool=made.get(pool),
        )  # fmt: skip
        lines = generate(fitted(choose_tile(problem))).count("\n")
        longest = max(longest, lines)
    assert longest <= MOST_LINES


def test_the_longest_text_is_within_the_compilers_budget() -> None:
    """A line of the text is some eight of LLVM's."""
    problem = LONG["a row with stride 3"]
    function, dtypes, scratch = TILE.native(problem)
    assert function.text(dtypes, scratch).count("\n") <= MOST_INSTRUCTIONS


def test_named_problems_are_written_out_as_before() -> None:
    """The limit concerns none of those whose times are measured."""
    for make, _ in NAMED.values():
        problem = make(1)
        if TILE.why_not(problem) is None:
            assert fitted(choose_tile(problem)).turn == 0, problem
