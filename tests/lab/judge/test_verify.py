from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.errors import DeviceMissing, UnsupportedProblem, VerificationFailure
from rooftile.lab.judge import verify as lab
from rooftile.ops import Conv2d, Pool
from rooftile.strategies import Tunable, ladder, strategy
from tests.support.judged_problems import Counts, CountsOnGpu
from tests.support.wrong_strategies import HIDDEN, ON_GRID, RIGHT, WRONG, Fake
from tests.support.wrong_strategies import right as right_result

pytestmark = pytest.mark.usefixtures("plainly_compiled")

PROBLEM = Conv2d(3, 2, 13, 17, 3, (3, 5), padding=(1, 2), activation="relu")
POOLED = Conv2d(2, 2, 12, 16, 3, (3, 3), activation="tanh", pool=Pool.of("average", 2))


@pytest.mark.parametrize("problem", [PROBLEM, POOLED], ids=["relu", "tanh-average"])
def test_a_right_strategy_passes(problem):
    verdict = lab.verify(problem, RIGHT, seed=3)
    assert verdict.passed, verdict.reason
    assert 0 < verdict.budget_fraction <= 1
    assert 0 < verdict.max_abs < 1e-6
    assert 0 < verdict.max_rel < 1e-6
    verdict.raise_if_wrong()


@pytest.mark.parametrize("precision", ["ieee", "fast"])
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("problem", [PROBLEM, POOLED], ids=["relu", "tanh-average"])
def test_every_wrong_strategy_is_caught(problem, name, precision, monkeypatch):
    monkeypatch.setattr(WRONG[name], "precision", precision, raising=False)
    verdict = lab.verify(problem, WRONG[name])
    assert not verdict.passed
    assert verdict.reason
    with pytest.raises(VerificationFailure, match="is wrong"):
        verdict.raise_if_wrong()


@pytest.mark.parametrize("name", ["whole tiles only", "the first values alone"])
def test_what_one_problem_and_known_inputs_do_not_show(name):
    strategy = HIDDEN[name]
    exam = lab.Exam(ON_GRID)
    out = np.empty(ON_GRID.output_shape, np.float32)
    strategy.bind(ON_GRID, exam.parameters, cpu.open_device())(exam.x, out)
    assert exam.expected.judge(out, "ieee").passed
    verdict = lab.verify(ON_GRID, strategy)
    assert not verdict.passed
    assert verdict.reason.startswith(("at Conv2d(", "on fresh inputs"))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000), channels=st.integers(1, 40), mask=st.integers(1, 5),
    kind=st.sampled_from([None, "max", "average"]),
    activation=st.sampled_from(["none", "relu", "sigmoid", "tanh"]),
)  # fmt: skip
def test_float32_sums_stay_within_the_budget(seed, channels, mask, kind, activation):
    pool = None if kind is None else Pool.of(kind, 2)
    problem = Conv2d(1, channels, 9, 9, 2, (mask, mask), activation=activation, pool=pool)
    (loops,) = (rung for rung in ladder("conv2d") if rung.name == "loops")
    verdict = lab.verify(problem, loops, seed, neighbours=False)
    assert verdict.passed, verdict


@pytest.mark.parametrize("problem", [Counts(64, 5), Counts(100, 33)], ids=str)
def test_a_right_strategy_of_a_gpu_passes(problem, opencl_device):
    verdict = lab.verify(problem, CountsOnGpu(), device=opencl_device)
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("valid[i] > 0 && ", ""), "other than the reference"),
        (("bin >= BINS", "bin >= BINS - 1"), "1 of 5 elements other than the reference"),
        (("i < SIZE", "i < SIZE / 8 * 8"), "at Counts("),
        (("out[bin] =", "out[bin + (bin == BINS - 1) * 3] = out[bin] ="), "outside its output"),
        (("counted;\n}", "counted;\n    ((GLOBAL int*)valid)[SIZE - 1] = 7;\n}"), "inputs were"),
        (("out[bin] = counted", "if (counted & 1) out[bin] = counted"), "other than the ref"),
    ],
    ids=["wrong", "one is left", "whole tiles only", "overruns", "changes its input", "even left"],
)
def test_every_wrong_strategy_of_a_gpu_is_caught(change, reason, opencl_device):
    verdict = lab.verify(Counts(64, 5), CountsOnGpu(*change), device="opencl")
    assert not verdict.passed
    assert reason in verdict.reason


def test_a_rung_of_the_package_is_verified_on_its_device_with_a_config(opencl_device):
    rung, bound = strategy("conv2d", "naive", "opencl"), []
    real = type(rung).bind

    def bind(self, problem, parameters, device, config=None):
        made = real(self, problem, parameters, device, config)
        bound.append((problem, made.config["BLOCK_X"]))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(rung), "bind", bind)
        assert lab.verify(PROBLEM, rung, device=opencl_device, config={"BLOCK_X": 8}).passed
    assert {width for _, width in bound} == {8}
    assert [problem for problem, _ in bound] == [PROBLEM, *PROBLEM.neighbours()]


def test_a_config_that_a_neighbour_cannot_have_is_its_default_there(opencl_device):
    class Narrow(CountsOnGpu):
        tunables = (Tunable("SPAN", (1, 64), 1),)
        seen: ClassVar = []

        def invalid(self, problem, config):
            return "too wide" if config["SPAN"] > problem.size else None

        def macros(self, problem, config):
            self.seen.append((problem, config["SPAN"]))
            return super().macros(problem, config)

    problem = Counts(64, 5)
    assert lab.verify(problem, Narrow(), device=opencl_device, config={"SPAN": 64}).passed
    assert Narrow.seen[0] == (problem, 64)
    assert {(p.size >= 64, span) for p, span in Narrow.seen} == {(True, 64), (False, 1)}


def test_a_gpus_strategy_wants_a_device_that_is_there(no_cuda):
    with pytest.raises(DeviceMissing):
        lab.verify(Counts(64, 5), CountsOnGpu())


def test_what_a_strategy_does_not_take_is_not_verified():
    class Refusing(CountsOnGpu):
        def limits(self, problem):
            return "it is Sunday"

    with pytest.raises(UnsupportedProblem, match="Sunday"):
        lab.verify(Counts(64, 5), Refusing())


def test_each_kind_of_hard_inputs_is_run_twice():
    """And ordinary ones once more, on values that nobody knows."""
    calls = []

    def counted(problem, weights, bias, x, out):
        calls.append(x.copy())
        with np.errstate(invalid="ignore", over="ignore"):
            right_result(problem, weights, bias, x, out)

    assert lab.verify(PROBLEM, Fake("counted", counted), neighbours=False, hard=True).passed
    kinds = PROBLEM.hard(0)
    assert len(calls) == 3 + 2 * len(kinds)
    for made, (x, *_) in zip(calls[3::2], kinds.values(), strict=True):
        np.testing.assert_array_equal(made, x)


def test_hard_inputs_catch_what_ordinary_ones_do_not():
    def no_infinities(problem, weights, bias, x, out):
        right_result(problem, weights, bias, np.clip(x, -1e6, 1e6), out)

    strategy = Fake("no infinities", no_infinities)
    assert lab.verify(PROBLEM, strategy).passed
    verdict = lab.verify(PROBLEM, strategy, hard=True)
    assert not verdict.passed
    assert verdict.reason.startswith("on many decades:")
