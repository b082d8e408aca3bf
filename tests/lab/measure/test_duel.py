"""Two strategies in turns: verified, timed on their device, and refused where they cannot run."""

from __future__ import annotations

import pytest

from rooftile.errors import InputError, UnsupportedProblem, VerificationFailure
from rooftile.lab.measure import duel as contest
from rooftile.lab.measure.contest import VERIFIED_ITEMS
from rooftile.lab.measure.history import compare
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import strategy

pytestmark = pytest.mark.usefixtures("plainly_compiled")

LOOPS = strategy("conv2d", "loops", "cpu")
PROBLEM = Conv2d(2, 1, 20, 24, 2, (3, 3), activation="relu", pool=Pool.of("max", 2))


def test_two_of_the_cpu():
    found = contest.contest(PROBLEM, "loops", "threads", seconds=0)
    assert found.samples == (compare.LOOKS[0],) * 2
    assert 0 < found.low <= found.ratio <= found.high


def test_two_of_a_gpu_with_a_config(opencl_device, monkeypatch):
    compiled = []
    real = type(opencl_device).compile

    def watched(self, text, macros, folders=()):
        compiled.append(macros.get("ITEMS"))
        return real(self, text, macros, folders)

    monkeypatch.setattr(type(opencl_device), "compile", watched)
    rows = ("row_local", {"ITEMS": 256})
    found = contest.contest(PROBLEM, "direct_tile", rows, "opencl", seconds=0)
    assert found.samples == (compare.LOOKS[0],) * 2
    assert 256 in compiled


def test_who_is_wrong_is_not_timed(monkeypatch):
    # The instance alone: `threads` is of the same class.
    monkeypatch.setattr(LOOPS, "prepare", lambda *_: lambda x, out: out.fill(0))
    with pytest.raises(VerificationFailure, match="loops"):
        contest.contest(PROBLEM, "threads", "loops", seconds=0)


def test_who_is_wrong_in_the_whole_batch_alone_is_not_timed(monkeypatch):
    real = LOOPS.prepare

    def of_few(problem, *rest):
        call = real(problem, *rest)
        return lambda x, out: call(x[:VERIFIED_ITEMS], out[:VERIFIED_ITEMS])

    monkeypatch.setattr(LOOPS, "prepare", of_few)
    many = PROBLEM.with_batch(VERIFIED_ITEMS + 4)
    with pytest.raises(VerificationFailure, match="not written"):
        contest.contest(many, "threads", "loops", seconds=0)


def test_who_cannot_run_is_not_timed(opencl_device):
    with pytest.raises(UnsupportedProblem, match="threads"):
        contest.contest(PROBLEM, "naive", ("naive", {"BLOCK_X": 2**15, "BLOCK_Y": 2**15}), "opencl")
    with pytest.raises(UnsupportedProblem, match="stride"):
        contest.contest(Conv2d(1, 1, 9, 9, 1, (3, 3), (2, 2)), "naive", "row_local", "opencl")
    with pytest.raises(InputError, match="strategy"):
        contest.contest(PROBLEM, "naive", "fastest")
