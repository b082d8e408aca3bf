"""The rules of a contest for problems of any operation."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.devices import cpu
from rooftile.errors import CompileFailure, InputError, OutOfMemory, UnsupportedProblem
from rooftile.lab.measure import climb as lab
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.entry import VerifiedCandidate
from tests.support.judged_problems import Computed, Counts, CountsOnGpu, Extremes, right

pytestmark = [
    pytest.mark.alone,
    pytest.mark.usefixtures("quick", "known_roof", "plainly_compiled"),
]


@pytest.fixture
def here(quick):
    """A contest on the CPU with these strategies."""

    def run(problem, *rungs, **options):
        contest = Contest(problem, cpu.open_device(2), **options)
        return contest.rows([contest.strategy(rung) for rung in rungs])

    return run


def whole_eights(problem, x, valid, out):
    some = problem.size // 8 * 8
    right(problem, x[:some], valid[:some], out)


def test_problems_without_a_batch_have_neighbours_and_times(here):
    good, bad = here(Counts(64, 5), Computed(right), Computed(whole_eights, "whole eights"))
    assert (good.status, good.reason) == ("passed", "")
    assert good.gflops == pytest.approx(64 / good.time_ms.median * 1e-6)
    assert good.gbps == pytest.approx((64 + 256 + 40) / good.time_ms.median * 1e-6)
    assert (bad.status, bad.cause) == ("failed", "wrong")
    assert bad.reason.startswith("at Counts(size=")
    (passed,) = here(Counts(64, 5), Computed(whole_eights), neighbours=False)
    assert passed.status == "passed"


def test_a_gpus_rung_that_is_wrong_off_the_grid_alone_is_wrong(opencl_device):
    rungs = [CountsOnGpu(), CountsOnGpu("i < SIZE", "i < SIZE / 8 * 8")]
    candidates = [(rung, None) for rung in rungs]
    good, bad = lab.climb_problem(Counts(64, 5), opencl_device, candidates).rows
    assert (good.status, good.reason) == ("passed", "")
    assert (bad.status, bad.cause, bad.time_ms) == ("failed", "wrong", None)
    assert bad.reason.startswith("at Counts(size=")
    assert "other than the reference" in bad.reason
    assert bad.error.budget_fraction > 1


def test_every_output_of_the_timed_work_is_judged(quick):
    examined = []

    def late(problem, x, weight, least, total):
        """Right as long as it is examined."""
        right(problem, x, weight, least, total)
        if examined:
            total[-1] = 0

    contest = Contest(Extremes(3, 40), cpu.open_device(2), neighbours=False)
    entries = [contest.strategy(Computed(right)), contest.strategy(Computed(late))]
    examined.append(True)
    good, bad = contest.rows(entries)
    assert good.status == "passed"
    assert (bad.status, bad.cause) == ("failed", "wrong")
    assert bad.reason.startswith("in the batch of 3: 1 of 6 elements")


def test_whoever_reads_another_tiles_items_is_wrong_in_the_whole_batch(here):
    def first_tile(problem, x, weight, least, total):
        """Each tile of 64 rows reads the first."""
        right(problem, np.resize(x[:64], x.shape), weight, least, total)

    problem = Extremes(200, 9)
    good, bad = here(problem, Computed(right), Computed(first_tile, "first tile"))
    assert good.reason == "verified on 61 images, repeated to the batch"
    assert (bad.status, bad.cause) == ("failed", "wrong")
    assert "in the batch of 200" in bad.reason


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OutOfMemory(2, 1, "a buffer"), "out of memory"),
        (MemoryError("of NumPy"), "out of memory"),
        (UnsupportedProblem("it", "too large"), "unsupported"),
        (CompileFailure("k", "log", "k.cu"), "compile"),
        (InputError("config", 1, "2"), "error"),
        (RuntimeError("illegal access"), "error"),
    ],
)
def test_what_a_candidate_raises_is_a_row_with_its_cause(here, error, cause):
    def failing(*_):
        raise error

    row, other = here(Counts(64, 5), Computed(failing), Computed(right))
    assert (row.status, row.cause, row.time_ms) == ("error", cause, None)
    assert row.reason == f"{type(error).__name__}: {error}"
    assert other.status == "passed"


def test_a_device_that_lacks_instructions_skips_the_rung(opencl_device):
    class Later(CountsOnGpu):
        least_architecture = 10_000
        architectures = ("sm_90",)

    (row,) = lab.climb_problem(Counts(64, 5), opencl_device, [(Later(), None)]).rows
    assert (row.status, row.cause) == ("skipped", "device")
    assert "sm_90 alone" in row.reason


def test_what_is_given_is_computed(opencl_device):
    problem = Counts(64, 5)
    arrays = problem.random(7)
    contest = Contest(problem, opencl_device, arrays=arrays)
    with opencl_device.on():
        entry = contest.strategy(CountsOnGpu())
        assert isinstance(entry, VerifiedCandidate)
        (out,) = entry.result()
    assert out.tolist() == problem.reference(*arrays).tolist()
