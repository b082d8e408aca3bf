"""The verdict on simulated noise, whose truth is known: false alarms, detections, honest doubt."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.measure.history import compare
from rooftile.lab.measure.history.compare import (
    LOOKS,
    ab,
    device_ms,
    least_samples,
    paired,
    rank,
    unpaired,
)
from rooftile.runtime.timing.device import TimedLaunches

SEEDS = 600


def lognormal(generator, count):
    return np.exp(0.05 * generator.standard_normal(count))


def spiky(generator, count):
    """A tenth of the samples is interrupted, for up to a hundred times their length."""
    interrupted = generator.random(count) < 0.1
    return lognormal(generator, count) * np.where(interrupted, 1 + 100 * generator.random(count), 1)


def bimodal(generator, count):
    """Two clocks, neither of which rules."""
    return lognormal(generator, count) * np.where(generator.random(count) < 0.5, 1.0, 1.3)


def skewed(generator, count):
    return 1 + generator.exponential(0.2, count)


NOISES = pytest.mark.parametrize("noise", [lognormal, spiky, bimodal, skewed])


def most(level):
    """So many of `SEEDS` may err: three standard deviations over the level."""
    return SEEDS * level + 3 * math.sqrt(SEEDS * level * (1 - level))


@NOISES
@pytest.mark.parametrize("count", [6, 11, 40])
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_the_interval_holds_the_ratio_of_medians_as_often_as_promised(noise, count, level):
    missed = 0
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        a, b = noise(generator, count + 3), 1.25 * noise(generator, count)
        found = unpaired(list(a), list(b), level=level)
        missed += not found.low <= 1.25 <= found.high
    assert missed <= most(level)


@NOISES
@pytest.mark.parametrize("way", [paired, unpaired])
def test_false_alarms_are_no_more_than_the_level(noise, way):
    """At the worst truth that is still no difference of interest: the edge of the band."""
    effect, level = 0.02, 0.1
    for truth, wrong in ((1 + effect, "slower"), (1 / (1 + effect), "faster")):
        alarms = 0
        for seed in range(SEEDS):
            generator = np.random.default_rng(seed)
            a, b = noise(generator, 30), truth * noise(generator, 30)
            if way is paired:
                # Both draw the same noise up to a factor whose median is one.
                b = truth * a * np.exp(0.03 * generator.standard_normal(30))
            alarms += way(list(a), list(b), effect=effect, level=level).outcome == wrong
        assert alarms <= most(level)


@NOISES
def test_equals_are_never_called_different_more_often_than_the_level(noise):
    outcomes = []
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        a, b = noise(generator, 25), noise(generator, 25)
        outcomes.append(unpaired(list(a), list(b), effect=1e-9, level=0.1).outcome)
    assert sum(one in ("faster", "slower") for one in outcomes) <= most(0.1)
    assert "same" not in outcomes


@pytest.mark.parametrize(("truth", "outcome"), [(1.1, "slower"), (1 / 1.1, "faster")])
@pytest.mark.parametrize("noise", [lognormal, spiky])
def test_a_known_effect_is_detected(noise, truth, outcome):
    found = []
    for seed in range(100):
        generator = np.random.default_rng(seed)
        found.append(
            unpaired(list(noise(generator, 150)), list(truth * noise(generator, 150))).outcome
        )
    assert found.count(outcome) >= 95


def test_equal_ones_are_the_same_where_samples_suffice():
    generator = np.random.default_rng(1)
    a, b = lognormal(generator, 2000), lognormal(generator, 2000)
    found = unpaired(list(a), list(b), effect=0.02)
    assert (found.outcome, found.more) == ("same", None)


def test_two_swapped_give_the_opposite_verdict():
    generator = np.random.default_rng(2)
    a, b = list(lognormal(generator, 99)), list(1.2 * lognormal(generator, 99))
    one, other = unpaired(a, b), unpaired(b, a)
    assert (one.outcome, other.outcome) == ("slower", "faster")
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))


@given(count=st.integers(1, 5), level=st.sampled_from([0.05, 0.01]))
def test_few_samples_cannot_tell_and_say_how_many_would_give_an_interval(count, level):
    found = paired([1.0] * count, [9.0] * count, level=level)
    assert (found.outcome, found.low, found.high) == ("cannot tell", 0.0, math.inf)
    assert count + found.more == least_samples(level)
    enough = [1.0] * (count + found.more)
    assert paired(enough, [9 * one for one in enough], level=level).outcome == "slower"
    assert "more would give an interval" in str(found)


def test_as_many_more_samples_as_it_says_mostly_tell():
    asked, told = 0, 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        a, b = lognormal(generator, 20), 1.06 * lognormal(generator, 20)
        found = unpaired(list(a), list(b), effect=0.01)
        if found.outcome != "cannot tell" or found.more is None:
            continue
        asked += 1
        a = np.append(a, lognormal(generator, found.more))
        b = np.append(b, 1.06 * lognormal(generator, found.more))
        told += unpaired(list(a), list(b), effect=0.01).outcome != "cannot tell"
    assert asked > 50
    assert told > 0.4 * asked


def test_no_number_of_samples_is_promised_at_the_edge_itself():
    a = [1 + 0.01 * (i % 7 - 3) for i in range(70)]
    found = paired(a, [1.0100001 * one * (1 + 0.02 * (-1) ** i) for i, one in enumerate(a)])
    assert found.outcome == "cannot tell"
    crossing = paired([1.0] * 30, [1.01 + 0.02 * (-1) ** i for i in range(30)], effect=0.01)
    assert (crossing.outcome, crossing.more) == ("cannot tell", None)
    assert "the smallest effect of interest" in str(crossing)


def test_the_exact_probability_of_the_interval():
    for count, level in itertools.product(range(1, 80), (0.2, 0.05, 0.01)):
        k = rank(count, level)
        below = [math.comb(count, i) for i in range(count + 1)]
        assert 2 * sum(below[:k]) <= level * 2**count
        assert k == count // 2 or 2 * sum(below[: k + 1]) > level * 2**count
        assert (k > 0) == (count >= least_samples(level))
    assert rank(5000, 0.05) == 2431


def test_drift_that_goes_through_both_cancels_in_pairs_and_not_otherwise():
    generator = np.random.default_rng(3)
    drift = np.linspace(1, 2, 60)
    a = list(drift * (1 + 0.002 * generator.standard_normal(60)))
    b = list(1.03 * drift * (1 + 0.002 * generator.standard_normal(60)))
    assert paired(a, b).outcome == "slower"
    assert unpaired(a, b).outcome == "cannot tell"


def simulated(generator, truth, noise):
    """Two contestants whose machine becomes slower all the time."""
    ticks = itertools.count(1)

    def sample(factor):
        return factor * (1 + 0.01 * next(ticks)) * float(noise(generator, 1)[0])

    return ab(1.0, truth, sample=sample, seconds=math.inf, effect=0.02, level=0.1)


@NOISES
def test_stopping_early_raises_no_false_alarms(noise):
    outcomes = [simulated(np.random.default_rng(n), 1.02, noise).outcome for n in range(300)]
    assert outcomes.count("slower") <= 30 + 3 * math.sqrt(300 * 0.1 * 0.9)


def test_turns_go_on_until_the_verdict_is_clear():
    clear = simulated(np.random.default_rng(0), 2.0, lognormal)
    assert (clear.outcome, clear.samples, clear.level) == ("slower", (LOOKS[0],) * 2, 0.1)
    doubtful = simulated(np.random.default_rng(0), 1.02, lognormal)
    assert (doubtful.outcome, doubtful.samples) == ("cannot tell", (LOOKS[-1],) * 2)


def test_turns_change_who_comes_first_after_one_sample_to_warm_up():
    order = []

    def sample(name):
        order.append(name)
        return 1.0

    ab("a", "b", sample=sample, seconds=0)
    assert "".join(order[:2]) == "ab"
    assert "".join(order[2:8]) == "baabba"
    assert len(order) == 2 + 2 * LOOKS[0]


def test_callables_are_timed_in_rounds(monkeypatch):
    called = {"a": 0, "b": 0}

    def contestant(name):
        def call():
            called[name] += 1
            sum(range(1000))

        return call

    found = ab(contestant("a"), contestant("b"), seconds=0)
    assert found.samples == (LOOKS[0],) * 2
    assert 0 < found.low <= found.ratio <= found.high
    assert min(called.values()) > LOOKS[0]


def test_work_on_a_device_is_timed_between_marks():
    class Clock:
        now = 0.0

        def mark(self):
            return self.now

        def between(self, before, after):
            return after - before

        def synchronise(self):
            pass

    clock = Clock()

    def many():
        clock.now += 12.0

    work = TimedLaunches(clock, many, many, 4, lambda: None, 0.0)
    assert device_ms(work) == 3.0


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0], [math.nan], [math.inf]])
def test_what_is_no_time_is_refused(bad):
    with pytest.raises(InputError, match="a:"):
        paired(bad, [1.0])
    with pytest.raises(InputError, match="b:"):
        unpaired([1.0], bad)


@pytest.mark.parametrize("options", [{"effect": 0.0}, {"level": 0.0}, {"level": 0.5}])
def test_a_band_or_level_that_says_nothing_is_refused(options):
    with pytest.raises(InputError):
        compare.paired([1.0], [1.0], **options)
