"""Each figure shows what the rows say: lengths, places, colours, reasons, numbers."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from rooftile.lab.show.report import bars, errors, libraries, roofline, timeline, times
from rooftile.lab.show.report.heatmap import axes, heatmaps
from rooftile.lab.show.report.sources import content

from .report_cases import (
    FLOOR_MS,
    GPU_CEILINGS,
    climb,
    network,
    passed,
    section,
    tuning,
    typical,
    without_time,
)


def shapes(picture, name):
    """The elements of a class, as dictionaries of their attributes."""
    root = ElementTree.fromstring(picture)
    found = [one for one in root.iter() if name in one.get("class", "").split()]
    return [one.attrib for one in found]


def length(strip, name="bar"):
    return float(shapes(strip.track, name)[0]["width"].rstrip("%"))


def test_a_bar_is_as_long_as_its_share_of_the_roof():
    figure = bars.figure(section(climb(passed("a", 0.25), passed("b", 0.5))))
    assert [length(strip) for strip in figure.strips] == [25, 50]
    assert [strip.value for strip in figure.strips] == ["25 %", "50 %"]


def test_beyond_the_roof_the_axis_goes_on_and_the_caption_says_why():
    figure = bars.figure(section(typical()))
    by_name = {strip.name: strip for strip in figure.strips}
    assert length(by_name["winograd"]) == 100
    assert length(by_name["tiled"]) == pytest.approx(100 * 0.5 / 1.4, abs=0.01)
    assert float(shapes(by_name["tiled"].track, "roof")[0]["x1"].rstrip("%")) == pytest.approx(
        100 / 1.4, abs=0.01
    )
    assert "effective" in figure.caption


def test_a_cold_bar_is_shorter_by_the_ratio_of_the_times():
    (strip,) = bars.figure(section(climb(passed("a", 0.6, cold=1.5)))).strips
    assert length(strip, "cold") == pytest.approx(40)


def test_without_ceilings_bars_are_rates():
    rows = [passed("a", 0.25, roof_fraction=None), passed("b", 0.5, roof_fraction=None)]
    made = section(climb(*rows, ceilings={}))
    figure = bars.figure(made)
    assert [length(strip) for strip in figure.strips] == [50, 100]
    assert "no roof" in figure.caption
    assert roofline.figure(made) is None


def test_rows_without_a_time_say_why_in_every_figure_that_shows_them():
    made = section(typical())
    figure = bars.figure(made)
    reasons = {strip.name: (strip.value, strip.reason) for strip in figure.strips if strip.reason}
    assert reasons == {
        "broken": ("failed", "worst element (1, 2) is 3"),
        "slow": ("skipped", "would take 34 s"),
        "crash": ("error", "CompileFailure: no such thing"),
    }
    for module in (bars, times, errors):
        notes = [cells[-1] for _, cells in module.figure(made).table.rows]
        assert any("skipped: would take 34 s" in note for note in notes)


def test_nothing_passed_is_no_error():
    made = section(climb(without_time("a", "skipped", "no time")))
    assert bars.figure(made).caption == "No rung has a time; each says why."
    assert [module.figure(made) for module in (roofline, times, errors)] == [None, None, None]


def test_every_rung_is_on_the_roofline_where_its_rate_is():
    made = section(typical())
    picture = ElementTree.fromstring(roofline.figure(made).picture)
    marks = {one.get("data-tip").split(" (")[0]: one for one in picture.iter("svg")
             if one.get("data-tip")}  # fmt: skip
    assert set(marks) == {"loops", "tiled", "winograd", "torch eager"}
    assert len({one.get("x") for one in marks.values()}) == 1
    heights = [float(marks[name].get("y")) for name in ("winograd", "tiled", "loops")]
    assert heights == sorted(heights)
    labels = {one.text for one in picture.iter("text")}
    assert {"200 GFLOP/s float32", "40.0 GB/s memory", "tiled"} <= labels


def test_matrix_rates_that_look_alike_share_a_line():
    rows = [passed("a", 200.0)]
    figure = roofline.figure(section(climb(*rows, ceilings=GPU_CEILINGS)))
    assert "655 TFLOP/s bf16, fp16" in figure.picture
    assert "350 TFLOP/s tf32" in figure.picture


def test_an_error_beyond_its_budget_is_marked():
    figure = errors.figure(section(typical()))
    by_name = {strip.name: strip for strip in figure.strips}
    assert shapes(by_name["broken"].track, "wrong")
    assert not shapes(by_name["tiled"].track, "wrong")
    assert (by_name["broken"].value, by_name["broken"].detail) == ("40", "failed")


def test_times_have_marks_for_warm_and_cold():
    figure = times.figure(section(typical()))
    by_name = {strip.name: strip for strip in figure.strips}
    assert len(shapes(by_name["tiled"].track, "hollow")) == 1
    assert not shapes(by_name["loops"].track, "hollow")
    assert "cold ms" in figure.table.columns
    warm_only = times.figure(section(climb(passed("a", 0.5))))
    assert "cold ms" not in warm_only.table.columns


def test_a_median_that_had_not_settled_is_marked():
    made = climb(passed("a", 0.5))
    made["rows"][0]["time_ms"]["steady"] = False
    (strip,) = times.figure(section(made)).strips
    assert strip.value.startswith("~")
    assert "had not settled" in strip.tip


def test_a_heat_map_shows_the_best_and_what_broke():
    trials = {(a, b): 1.0 + a + 0.1 * b for a in (1, 2, 4) for b in (8, 16)}
    trials[4, 16] = "too much shared memory"
    (made,) = heatmaps(section(tuning(trials)))
    assert (made.rows_by, made.columns_by) == ("B", "A")
    assert made.columns == ("1", "2", "4")
    cells = {(row, column): cell for row, line in made.rows
             for column, cell in zip(made.columns, line, strict=True)}  # fmt: skip
    assert cells["8", "1"].best
    assert cells["8", "1"].step == 0
    assert cells["8", "4"].step == 7
    assert cells["16", "4"].step is None
    assert "too much shared memory" in cells["16", "4"].tip
    assert "6 trials, of which 1 have no time" in made.caption


def test_a_heat_map_takes_the_two_tunables_that_matter():
    rows = [
        passed("a", 1 / (1 + 5 * x + 3 * y + 0.01 * z), config={"Z": z, "X": x, "Y": y, "W": 1})
        for x in (0, 1) for y in (0, 1, 2) for z in (0, 1)
    ]  # fmt: skip
    made = section(climb(*rows))
    assert axes(made.rows) == ("X", "Y")
    assert axes(made.rows[:2]) == ("", "Z")
    assert axes(made.rows[:1]) == ("", "Z")


def test_a_heat_map_of_one_trial_that_failed():
    (made,) = heatmaps(section(tuning({(1, 1): "no"})))
    assert made.rows[0][1][0].text == "error"


def test_operations_follow_each_other():
    (run,) = content(network()).networks
    figure = timeline.figure(run)
    bar = [shapes(strip.track, "bar")[0] for strip in figure.strips]
    starts = [float(one["x"].rstrip("%")) for one in bar[:3]]
    assert starts == pytest.approx([0, 40, 99.5], abs=0.01)
    assert [strip.name for strip in figure.strips] == ["conv1", "conv2", "linear1", "whole plan"]
    assert length(figure.strips[-1]) == pytest.approx(85)


def test_a_network_stands_beside_the_libraries():
    peers = [
        passed("torch eager", 0.5, kind="peer", precision="fp16", device="cuda:0"),
        without_time("torch compile", "error", "RuntimeError", kind="peer", precision="fp16"),
    ]
    plan = passed("plan", 1.0, precision="fp16", device="cuda:0")
    (run,) = content(network() | {"precision": "fp16", "plan": plan, "peers": peers}).networks
    figure = libraries.figure(run)
    assert [length(strip) for strip in figure.strips[:2]] == [50, 100]
    assert [strip.name for strip in figure.strips] == ["whole plan", "torch eager", "torch compile"]
    assert figure.strips[1].badges == ("peer", "fp16")
    speeds = [dict(zip(figure.table.columns, cells, strict=True)) for _, cells in figure.table.rows]
    assert [one["our speed"] for one in speeds] == ["", "2.00 ×", ""]
    assert speeds[2]["note"] == "error: RuntimeError"
    assert "without copies" in figure.caption


def test_a_cpus_libraries_stand_beside_the_whole_plan():
    peer = passed("torch eager", FLOOR_MS / 34.0, kind="peer")
    (run,) = content(network() | {"peers": [peer]}).networks
    figure = libraries.figure(run)
    assert [length(strip) for strip in figure.strips] == [50, 100]
    assert "one after the other" in figure.caption
    assert libraries.figure(content(network()).networks[0]) is None
