"""What a page is made from: the commands' JSON and the history's records."""

from __future__ import annotations

import copy
import functools
import json
import math
import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooftile.errors import InputError
from rooftile.lab.measure.history.store import Record
from rooftile.lab.measure.records import median
from rooftile.lab.show.report import from_records, page, read_files
from rooftile.lab.show.report.sources import UNFIT, content

from .report_cases import (
    CEILINGS,
    GPU_CEILINGS,
    climb,
    network,
    passed,
    record,
    reproduced,
    section,
    trained,
    tuning,
    typical,
    without_time,
)


def test_a_climb_becomes_a_section_with_its_rows():
    made = section(typical())
    assert [row.strategy for row in made.rows][:3] == ["loops", "tiled", "winograd"]
    assert [row.strategy for row in made.passed] == ["winograd", "tiled", "torch eager", "loops"]
    assert made.hardware == "Some Processor"
    assert made.roof.bandwidth_gbps == 40
    assert made.intensity == pytest.approx(160563200 / 3532576)
    assert made.compute_bound
    assert made.floors_ms["ieee"] == pytest.approx(160563200 / 200 * 1e-6)


def test_a_gpu_is_called_by_its_name_and_has_its_own_roof():
    made = section(climb(passed("a", 0.5), ceilings=GPU_CEILINGS, gpu="A GPU"))
    assert made.hardware == "A GPU"
    assert made.roof.fma_gflops == 60000


def test_numbers_that_json_cannot_hold_are_not_finite():
    row = without_time("broken", "failed", "result has NaN", budget_fraction=2.0)
    row["error"] = {"max_abs": None, "max_rel": None, "budget_fraction": None}
    (made,) = section(climb(row)).rows
    assert math.isnan(made.error.budget_fraction)


def test_of_the_history_the_newest_row_of_each_strategy():
    rows = [record(1, passed("a", 0.1)), record(2, passed("b", 0.2)),
            record(3, passed("a", 0.05), run="b")]  # fmt: skip
    made = section({"records": rows})
    assert [(row.strategy, row.roof_fraction) for row in made.rows] == [("a", 0.05), ("b", 0.2)]
    assert made.ceilings == CEILINGS
    assert made.times == ("2026-11-21T11:00:01+00:00", "2026-11-21T11:00:03+00:00")
    assert "ceilings" not in made.environment


def test_of_a_tunings_last_round_the_winner():
    rows = [record(1, passed("a", 0.4, config={"A": 2}), command="final"),
            record(2, passed("a", 0.3, config={"A": 1}), command="final")]  # fmt: skip
    (row,) = section({"records": rows}).rows
    assert row.config == {"A": 2}


def test_trials_are_no_rungs():
    made = section(tuning({(1, 1): 2.0, (1, 2): 3.0}))
    assert (len(made.rows), len(made.trials)) == (0, 2)


@pytest.mark.parametrize("command", ["audit", "submit"])
def test_kernels_of_others_are_neither_rungs_nor_peers(command):
    rows = [
        record(1, passed("a", 0.1)),
        record(2, passed("lib", 0.2, kind="peer")),
        record(3, passed("mine.py:conv", 0.9, kind="peer"), command=command, run="b"),
        record(4, passed("mine.py:conv", 0.8, kind="peer"), command=command, run="c"),
    ]
    made = section({"records": rows})
    assert [row.strategy for row in made.rows] == ["a", "lib"]
    assert [(row.strategy, row.roof_fraction) for row in made.foreign] == [("mine.py:conv", 0.8)]
    assert made.timed == "1 of 1 rung, 1 of 1 peer"
    assert content({"records": rows}).rows == 3


def test_problems_and_devices_are_sections_of_their_own():
    rows = [record(1, passed("a", 0.1)), record(2, passed("a", 0.1), batch=32),
            record(3, passed("a", 0.1, device="cuda:0"))]  # fmt: skip
    found = from_records([Record.from_json(row) for row in rows])
    assert [(one.problem["batch"], one.device) for one in found.sections] == [
        (32, "cpu"), (64, "cpu"), (64, "cuda:0"),
    ]  # fmt: skip


def test_only_what_is_asked_for():
    both = content(typical()) + content(network())
    assert both.only("conv2d", None).networks == ()
    assert both.only("linear", None).sections == ()
    assert not both.only(None, "cuda")
    assert len(both.only(None, "cpu").sections) == 1
    cuda = content(climb(passed("a", 0.5), device="cuda:1"))
    assert cuda.only(None, "cuda")
    assert not cuda.only(None, "cuda:0")
    assert not cuda.only(None, "cpu")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"rows": []}', '{"problem": 1, "rows": [{}]}', "no JSON",
             '{"op_times_ms": {}}', '{"records": [{"id": 1}]}'],
)  # fmt: skip
def test_another_file_is_named_and_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.json"):
        read_files([path])


OBJECTS = (
    typical(), network(), {"records": [record(1, passed("a", 0.1))]}, reproduced("words"),
    trained(), climb(passed("a", 0.5), ceilings=GPU_CEILINGS, gpu="A GPU"),
)  # fmt: skip


def places(value, place=()):
    """Where there is something in an object: the keys and indices that lead there."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*place, key)
            yield from places(value[key], (*place, key))


@settings(max_examples=25)
@given(st.data(), st.sampled_from(OBJECTS))
def test_an_object_that_lacks_something_is_refused_or_shown(data, found):
    found = copy.deepcopy(found)
    *above, last = data.draw(st.sampled_from(sorted(places(found), key=str)))
    inner = functools.reduce(operator.getitem, above, found)
    if data.draw(st.booleans()):
        del inner[last]
    else:
        inner[last] = data.draw(st.sampled_from([None, "x", -1, True, [], {"a": 1}]))
    try:
        made = content(found)
    except UNFIT:
        return
    assert page(made)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (("options", "batch"), r"required field `batch` - at `\$.options`"),
        (("epochs", 1, "loss"), r"required field `loss` - at `\$.epochs\[1\]`"),
        (("environment",), "no 'environment'"),
    ],
)
def test_what_is_missing_is_said(tmp_path, place, said):
    made = trained()
    *above, last = place
    del functools.reduce(operator.getitem, above, made)[last]
    path = tmp_path / "training.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_files([path])


def test_several_files_make_one_page(tmp_path):
    paths = []
    for number, found in enumerate((typical(), network(), tuning({(1, 1): 2.0}))):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(found))
    found = read_files(paths)
    assert (len(found.sections), len(found.networks), found.rows) == (2, 1, 8)


def test_a_row_without_a_time_is_slower_than_any():
    made = section(climb(without_time("a", "skipped", "no time"), passed("b", 0.5)))
    assert median(made.rows[0]) == math.inf
