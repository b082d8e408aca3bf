"""Experiments: verdicts follow from measurements alone, and the rules that make them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile_papers.reproduce import catalogue, figures, line_convolutions, verdicts
from rooftile_papers.reproduce.exam_claims import idle_warps, skipped_rows
from rooftile_papers.reproduce.exam_tables import rounds_to
from rooftile_papers.reproduce.experiment import Found, Measured, Setting
from rooftile_papers.reproduce.figures import Figure, Table

from .ending_experiment import Ends, LosesOne, LosesOneInTurns

RECORDS = sorted((Path(__file__).parents[3] / "benchmarks" / "results").glob("reproduced-*.json"))
EXPERIMENTS = catalogue.EXPERIMENTS.values()


def table_of(**values):
    known = {"unit": "ms", "document": "a report", "place": "a table"}
    made = tuple(Figure("made.up", key, value, **known) for key, value in values.items())
    return Table("made.up", "a report", "a table", "ms", "made up", made)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_verdict_follows_from_the_records_measurements(path):
    for kept in json.loads(path.read_text(encoding="utf-8"))["records"]:
        assert catalogue.judged(kept) == kept["verdicts"], kept["experiment"]
        assert all(check["passed"] for check in kept["checks"])


def test_every_published_table_is_of_one_experiment():
    owners = {name: [e.name for e in EXPERIMENTS if name.startswith(e.prefixes)]
              for name in figures.tables()}  # fmt: skip
    assert all(len(names) == 1 for names in owners.values()), owners


def test_listed_times_on_a_processor_are_ten_minutes_and_quickly_two():
    """Of two cores, all experiments one after the other, on the processor and on its OpenCL."""
    times = [one.needs[kind] for one in EXPERIMENTS for kind in ("cpu", "opencl")
             if kind in one.needs]  # fmt: skip
    assert sum(full for full, _ in times) < 600
    assert sum(quick for _, quick in times) < 120


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name)
def test_without_measurements_every_number_is_not_measured_or_calculated(one):
    rulings = one.judge(Found((), ()))
    ids = [ruling.figure.id for ruling in rulings]
    assert sorted(ids) == sorted(f.id for table in one.tables() for f in table.figures)
    assert all(ruling.reason for ruling in rulings)
    machines_own = {"holds in ratio", "differs here"}
    assert not machines_own & {ruling.word for ruling in rulings}


def test_the_exams_are_calculated_and_judged_alike_again():
    one = catalogue.experiment("exams")
    kept = catalogue.record(one, catalogue.setting("cpu", quick=True))
    assert catalogue.judged(kept) == kept["verdicts"]
    words = {f"{v['table']}/{v['key']}": v["verdict"] for v in kept["verdicts"]}
    assert words["course.letters/a"] == "holds"
    assert words["course.letters/e"] == "cannot be"
    assert words["course.transfers/slow-down"] == "cannot be"
    assert words["course.conv example/(2,2)"] == "holds"
    claims = {claim["words"]: claim for claim in kept["claims"]}
    assert not any(claim["true"] for claim in claims.values())
    assert "30 and 31 do" in " ".join(claim["because"] for claim in claims.values())
    slow = next(m["value"] for m in kept["measured"] if m["name"] == "course.transfers/slow-down")
    assert slow == pytest.approx(1.275)


def test_rows_beyond_the_grid_are_skipped():
    assert skipped_rows(2560, blocks=10, threads=256) == 0
    assert skipped_rows(2561, blocks=10, threads=256) == 1
    assert idle_warps(32, 32) == []


def test_a_number_rounds_to_the_printed_digits():
    assert rounds_to(4.545, 5)
    assert rounds_to(0.182, 0.2)
    assert not rounds_to(4.848, 4.9)
    assert not rounds_to(37.93, 37)


def test_ratios_are_judged_where_numbers_differ():
    published = table_of(a=10.0, b=20.0, c=40.0)
    found = verdicts.by_ratio(published, {"a": 1.0, "b": 2.0, "c": 4.1})
    assert [ruling.word for ruling in found] == ["holds in ratio"] * 3
    found = verdicts.by_ratio(published, {"a": 10.5, "b": 4.0, "c": 41.0})
    assert [ruling.word for ruling in found] == ["holds", "differs here", "holds"]
    assert verdicts.by_ratio(published, {}) == []


def test_one_number_alone_has_no_ratio():
    (found,) = verdicts.by_ratio(table_of(a=10.0), {"a": 1.0})
    assert found.word == "differs here"


def test_the_decks_checker_refuses_right_results_where_both_are_zero():
    right = np.array([0, 1.5, 2, 0], np.float32)
    assert line_convolutions.checked_as_published(right, right) == 2
    assert line_convolutions.checked_as_published(right, right + np.float32(1)) == 4
    assert line_convolutions.covered_by_integers(1000, 16) == 992
    assert line_convolutions.covered_by_integers(1024, 16) == 1024


@pytest.mark.parametrize("length", [50, 25_000])
def test_timed_results_are_looked_at_at_both_ends(length):
    x, mask = np.random.default_rng(0).random(length, np.float32), line_convolutions.MASK
    right = np.asarray(Conv1d(length, 3, "interior").reference(x, mask), np.float32)
    assert line_convolutions.right_at_both_ends(x, right)
    for place in (0, 1, -2, -1):
        for wrong in (np.nan, 2.5):
            made = right.copy()
            made[place] = wrong
            assert not line_convolutions.right_at_both_ends(x, made)


def test_a_gpu_time_that_is_mostly_copies_measured_something_else():
    def one(name, value):
        return Measured(name, value, "ms", value, value, 1)

    label = "1e5: basic, block 16"
    copies = Found((one(f"{label}, kernel", 0.1), one(f"{label}, all", 1.0)), ())
    kernel = Found((one(f"{label}, kernel", 0.9), one(f"{label}, all", 1.0)), ())
    experiment = catalogue.experiment("conv1d")

    def word(found):
        rulings = {ruling.figure.id: ruling for ruling in experiment.judge(found)}
        return rulings["conv1d.basic/1e5 gpu"].word

    assert word(copies) == "measured something else"
    assert word(kernel) == "differs here"


def test_what_is_unknown_is_refused():
    with pytest.raises(InputError, match="opencl-conv"):
        catalogue.experiment("nonsense")
    with pytest.raises(InputError, match="device"):
        catalogue.setting("tpu")
    with pytest.raises(InputError, match="opencl"):
        catalogue.record(catalogue.experiment("opencl-conv"), catalogue.setting("cpu"))


def test_a_quick_run_on_a_device_is_right(opencl_device):
    one = catalogue.experiment("conv1d")
    kept = catalogue.record(one, catalogue.setting("opencl", quick=True))
    assert all(check["passed"] for check in kept["checks"])
    assert {check["name"] for check in kept["checks"]} >= {"core, block 16 is right"}
    assert catalogue.judged(json.loads(json.dumps(kept))) == kept["verdicts"]
    found = {one["name"] for one in kept["measured"]}
    assert {"1e5: CPU, serial", "1e5: constant, block 256, all"} <= found


def test_an_experiment_that_ends_its_process_keeps_what_came_before(opencl_device):
    """On a processor that OpenCL drives, an experiment runs in a child process."""
    description = SimpleNamespace(gpu=False, name="a processor")
    gpu = SimpleNamespace(kind="opencl", description=description)
    came = []
    place = Setting("opencl", gpu)
    kept = catalogue.record(Ends(), place, lambda kind, item: came.append((kind, item.name)))
    assert came == [("measured", "the first")]
    assert [one["name"] for one in kept["measured"]] == ["the first"]
    (check,) = kept["checks"]
    assert (check["name"], check["passed"]) == ("crashed", False)
    assert "SIGSEGV, some time after: the first" in check["said"]


def test_a_rung_that_ends_the_process_costs_its_own_row_alone(opencl_device):
    gpu = SimpleNamespace(kind="opencl", description=SimpleNamespace(gpu=False, name="a processor"))
    came = []
    kept = catalogue.record(
        LosesOne(), Setting("opencl", gpu), lambda kind, item: came.append(item.name)
    )
    checks = {check["name"]: check for check in kept["checks"]}
    assert [name for name, check in checks.items() if not check["passed"]] == ["deadly is right"]
    assert "SIGSEGV" in checks["deadly is right"]["said"]
    assert [one["name"] for one in kept["measured"]] == ["before", "behind"]
    assert len(came) == len(set(came)) == 5


def test_a_rung_that_ends_the_process_in_its_turn_costs_its_own_row_alone(opencl_device):
    """It is right, and crashes while all are timed: the others are timed without it."""
    gpu = SimpleNamespace(kind="opencl", description=SimpleNamespace(gpu=False, name="a processor"))
    kept = catalogue.record(LosesOneInTurns(), Setting("opencl", gpu), lambda kind, item: None)
    failed = {check["name"]: check["said"] for check in kept["checks"] if not check["passed"]}
    assert list(failed) == ["two is right"]
    assert "SIGSEGV" in failed["two is right"]
    assert [one["name"] for one in kept["measured"]] == ["one", "three"]
