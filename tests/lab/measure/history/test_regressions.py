"""What became of each rung between two revisions, runs or files."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.lab.measure.history.regressions import changes, side
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.records import Error, Row
from rooftile.ops import Conv2d
from rooftile.runtime.timing.host import timing_of

PROBLEM = Conv2d(3, 1, 9, 8, 2, (3, 3))
FAILED = Row("strategy", "tiled", "cuda:0", "ieee", "failed", "3 elements")


def passed(seed, factor=1.0, count=40, **fields):
    noise = 1 + 0.02 * np.random.default_rng(seed).random(count)
    row = Row(
        "strategy", "tiled", "cuda:0", "ieee", "passed", error=Error(0, 0, 0),
        time_ms=timing_of(list(1e-3 * factor * noise)), gflops=1.0, gbps=1.0,
    )  # fmt: skip
    return dataclasses.replace(row, **fields)


@pytest.fixture
def history(history_path):
    with History() as opened:
        yield opened


def write(history, revision, *rows, command="climb", hardware="H200", problem=PROBLEM):
    run = history.begin(command, "cuda:0", hardware, {"revision": revision})
    for row in rows:
        history.add(run, problem, row)
    return run.id


def outcomes(history, a="aaa", b="bbb", **options):
    return [one.outcome for one in changes(side(a, history), side(b, history), **options)]


@pytest.mark.parametrize(
    ("factor", "outcome"), [(1.0, "same"), (1.2, "slower"), (0.8, "faster"), (1.03, "cannot tell")]
)
def test_a_rung_of_two_revisions(history, factor, outcome):
    write(history, "aaa111", passed(1))
    write(history, "bbb222", passed(2, factor))
    assert outcomes(history) == [outcome]
    (change,) = changes(side("aaa1", history), side("bbb", history))
    assert change.regression == (outcome == "slower")
    assert change.comparison.samples == (40, 40)


def test_runs_and_files_stand_for_records_too(history, tmp_path):
    first = write(history, "aaa", passed(1))
    second = write(history, "aaa", passed(2, 1.5))
    assert outcomes(history, first, second) == ["slower"]
    path = tmp_path / "records.json"
    kept = [record.to_json() for record in history.records(run=first)]
    path.write_text(json.dumps({"records": kept}))
    assert outcomes(history, second, str(path)) == ["faster"]


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", '{"records": [{"id": 1}]}'])
def test_a_file_of_something_else_is_named(history, tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.json.*rooftile history --json"):
        side(str(path), history)


@pytest.mark.parametrize("name", ["", "ccc"])
def test_what_stands_for_nothing_is_refused(history, name):
    write(history, "aaa", passed(1))
    with pytest.raises(InputError, match="what to compare"):
        side(name, history)


def test_what_broke_is_a_regression_and_what_was_mended_none(history):
    write(history, "aaa", passed(1), dataclasses.replace(FAILED, strategy="other"))
    write(history, "bbb", FAILED, passed(2, strategy="other"))
    found = changes(side("aaa", history), side("bbb", history))
    assert [(one.outcome, one.regression) for one in found] == [("broken", True), ("mended", False)]
    skipped = Row("strategy", "tiled", "cuda:0", "ieee", "skipped", "too slow")
    write(history, "ccc", skipped)
    assert outcomes(history, "aaa", "ccc") == ["not timed"]


def test_only_the_like_is_compared(history):
    write(history, "aaa", passed(1))
    write(history, "bbb", passed(2), hardware="B200")
    write(history, "bbb", passed(2), problem=PROBLEM.with_batch(4))
    write(history, "bbb", passed(2, precision="fast"), passed(2, strategy="other"))
    with pytest.raises(InputError, match="nothing in common"):
        changes(side("aaa", history), side("bbb", history))


def test_a_climbs_default_may_change_and_a_tunings_config_must_not(history):
    write(history, "aaa", passed(1, config={"A": 1}))
    write(history, "bbb", passed(2, config={"A": 2}))
    assert outcomes(history) == ["same"]
    write(history, "ccc", passed(1, config={"A": 1}), command="tune")
    write(history, "ddd", passed(2, config={"A": 2}), passed(3, config={"A": 1}), command="tune")
    (change,) = changes(side("ccc", history), side("ddd", history))
    assert change.after.config == {"A": 1}
    with pytest.raises(InputError, match="nothing in common"):
        changes(side("aaa", history), side("ddd", history))


def test_with_runs_enough_the_samples_are_their_medians(history):
    """Within a run there is no noise, from run to run there is: one run alone would deceive."""
    generator = np.random.default_rng(0)
    for revision in ("aaa", "bbb"):
        for factor in 1 + 0.2 * generator.random(10):
            write(history, revision, passed(1, factor))
    (change,) = changes(side("aaa", history), side("bbb", history))
    assert (change.runs, change.comparison.samples) == ((10, 10), (10, 10))
    assert change.outcome == "cannot tell"


def test_with_few_runs_the_newest_counts(history):
    write(history, "aaa", passed(1, 3.0))
    write(history, "aaa", passed(1))
    write(history, "bbb", passed(2))
    (change,) = changes(side("aaa", history), side("bbb", history))
    assert (change.runs, change.outcome) == ((1, 1), "same")
