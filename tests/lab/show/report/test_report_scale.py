"""Axes and labels: monotone, round, in the picture, not over each other."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.lab.measure.records import plain, problem_json
from rooftile.lab.show.drawing.scale import LinearAxis, Log
from rooftile.lab.show.report import words
from rooftile.lab.show.report.roofline import dodge
from rooftile.ops import Conv2d, Pool, Pool2d

POSITIVE = st.floats(1e-6, 1e9)


@given(POSITIVE)
def test_linear_ticks_are_few_and_reach_far(high):
    scale = LinearAxis(high)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 6
    assert ticks[0] == 0
    assert high / 2 <= ticks[-1] <= high * 1.001


@given(st.lists(POSITIVE, min_size=1, max_size=5))
def test_log_scale_holds_its_values_with_room(values):
    scale = Log.over(values)
    assert all(0 < scale.at(value) < 100 for value in values)
    places = [scale.at(value) for value in sorted(values)]
    assert places == sorted(places)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 9
    assert all(scale.low * 0.99 <= tick <= scale.high * 1.01 for tick in ticks)


def test_equal_ratios_are_equally_long():
    scale = Log(0.1, 1000)
    assert [round(scale.at(value)) for value in (0.01, 0.1, 1, 10, 100, 1000, 5000)] == [
        0, 0, 25, 50, 75, 100, 100,
    ]  # fmt: skip


@given(st.lists(st.floats(0, 420), max_size=28).map(sorted))
def test_labels_keep_apart_and_inside(wanted):
    placed = dodge(wanted, 420)
    assert len(placed) == len(wanted)
    assert all(low + 14.99 <= high for low, high in itertools.pairwise(placed))
    assert all(7.49 <= height <= 412.51 for height in placed)


def test_labels_with_room_stay_and_others_spread_evenly():
    assert dodge([50, 100, 300], 420) == [50, 100, 300]
    assert dodge([200, 200, 200], 420) == [185, 200, 215]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0420, "0.0420"), (1234.5, "1,230"), (494.1, "494"), (12.0, "12.0"), (0, "0"),
     (1.2e-7, "1.20e-7"), (3.4e8, "3.40e8"), (9.999, "10.0"), (math.nan, "nan")],
)  # fmt: skip
def test_figures(value, text):
    assert words.figures(value) == text


def test_words_of_rates_and_shares():
    assert words.rate(62100, "FLOP") == "62.1 TFLOP/s"
    assert words.rate(0.9218, "FLOP") == "922 MFLOP/s"
    assert words.share(0.0018) == "0.18 %"
    assert words.share(1.484) == "148 %"
    assert words.label("copy_gbps") == "copy GB/s"


def test_a_shape_leaves_out_what_is_as_usual():
    problem = plain(problem_json(Conv2d(8, 3, 40, 40, 6, (5, 3))))
    assert words.shape(problem) == "batch 8, channels 3, height 40, width 40, maps 6, mask 5 × 3"
    some = Conv2d(8, 3, 9, 9, 6, (3, 3), (2, 1), activation="relu", pool=Pool.of("max", 2))
    assert words.shape(plain(problem_json(some))).endswith("stride 2 × 1, relu, max pool 2 × 2")
    pool = plain(problem_json(Pool2d(1, 2, 9, 9, Pool.of("average", 3, 2))))
    assert words.shape(pool).endswith("width 9, average pool 3 × 3 by 2 × 2")
    assert words.shape({"operation": "a stranger's", "size": 7, "none": None}) == "size 7"
