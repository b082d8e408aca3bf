from __future__ import annotations

import datetime
import json

import numpy as np
import pytest

from rooftile.cli import main
from rooftile.cli.commands import history as command
from rooftile.errors import InputError
from rooftile.lab.measure.history.store import History
from rooftile.lab.measure.records import Error, Row
from rooftile.ops import Conv2d, named
from rooftile.ops.patterns.matmul import Matmul
from rooftile.runtime.timing.host import timing_of


def passed(strategy, seed=0, factor=1.0):
    noise = 1 + 0.02 * np.random.default_rng(seed).random(40)
    return Row(
        "strategy", strategy, "cuda:0", "ieee", "passed", config={"A": 1, "B": 2},
        error=Error(0, 0, 0), time_ms=timing_of(list(1e-3 * factor * noise)), gflops=1.0, gbps=1.0,
    )  # fmt: skip


@pytest.fixture
def filled(history_path):
    """Two runs of two rungs; the second of `slow` is slower."""
    with History() as history:
        for revision, factor in (("aaa111", 1.0), ("bbb222", 1.5)):
            run = history.begin("climb", "cuda:0", "H200", {"revision": revision})
            history.add(run, named("conv2d", "lenet-conv1"), passed("steady", 1))
            history.add(run, named("conv2d", "lenet-conv1"), passed("slow", 2, factor))
            failed = Row("strategy", "wrong", "cuda:0", "ieee", "failed", "3 elements")
            history.add(run, Conv2d(2, 1, 9, 9, 3, (3, 3)), failed)
    return history_path


def test_records_in_a_table(call, filled):
    code, out, _ = call("history")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("lenet-conv1 x1000") == 4
    assert out.count("on cuda:0 (H200), revision aaa111") == 1
    assert out.count("conv2d 1x9x9x3 x2") == 2
    assert "failed" in out
    assert "A=1 B=2" in out


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ((), 6), (("--strategy", "slow"), 2), (("--revision", "aaa"), 3),
        (("conv2d", "--shape", "lenet-conv1"), 4), (("linear",), 0), (("--device", "cuda"), 6),
        (("conv2d", "--shape", "lenet-conv1", "--batch", 8), 0), (("--device", "opencl"), 0),
        (("--status", "failed"), 2), (("--since", "1h"), 6), (("--since", "2099-01-01"), 0),
        (("--command", "tune"), 0), (("--last", 2), 2), (("--last", 0), 6),
    ],
)  # fmt: skip
def test_filters(call_json, filled, arguments, count):
    assert len(call_json("history", *arguments)["records"]) == count


def test_more_than_are_shown_is_said(call, filled):
    assert "--last 0 shows all" in call("history", "--last", 2)[1]
    assert "--last 0 shows all" not in call("history")[1]


def test_an_empty_history_is_none_made(call, call_json, history_path):
    assert call_json("history") == {"records": []}
    assert "no records" in call("history")[1]
    assert not history_path.exists()


@pytest.mark.parametrize("text", ["yesterday", "7y", "99999999999999d", ""])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match="since"):
        command.moment(text)


def test_times():
    now = datetime.datetime.now().astimezone()
    ages = {"30m": 0.5, "12h": 12, "7d": 168, "2w": 336}
    for text, hours in ages.items():
        age = (now - command.moment(text)).total_seconds() / 3600
        assert age == pytest.approx(hours, abs=0.01)
    assert command.moment("2026-11-21") == datetime.datetime(2026, 11, 21)


@pytest.mark.parametrize("arguments", [("--shape", "lenet-conv1"), ("conv2d", "--batch", 3)])
def test_a_shape_needs_an_operation_and_a_batch_a_shape(call, filled, arguments):
    code, out, err = call("history", *arguments)
    assert (code, out) == (2, "")
    assert "expected" in err


def test_a_damaged_history_is_one_message(call, history_path):
    history_path.write_bytes(b"something else\n" * 200)
    code, out, err = call("history")
    assert (code, out) == (2, "")
    assert "history.sqlite" in err
    assert "Traceback" not in err


def test_compare_finds_the_regression(call, call_json, filled):
    code, out, err = call("compare", "aaa", "bbb")
    assert code == 1, err
    assert max(map(len, out.splitlines())) <= 80
    rows = {line.split()[0]: line.split()[1:3] for line in out.splitlines() if line}
    assert rows["slow"] == ["slower", "1.500"]
    assert rows["steady"][0] == "same"
    assert out.count("cuda:0") == 3
    assert "1 slower" in out
    code, out, err = call("compare", "bbb", "aaa")
    assert (code, err) == (0, "")
    found = call_json("compare", "bbb", "aaa")
    assert found["counts"] == {"same": 1, "faster": 1, "not timed": 1}
    slow = next(one for one in found["changes"] if one["strategy"] == "slow")
    assert slow["comparison"]["low"] < slow["comparison"]["ratio"] < slow["comparison"]["high"]
    assert slow["comparison"]["samples"] == [40, 40]


def test_compare_takes_what_history_writes(call, call_json, filled, tmp_path):
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(call_json("history", "--revision", "aaa")))
    assert call("compare", path, "bbb")[0] == 1
    code, out, _ = call("compare", path, path)
    assert code == 0
    assert "3 same record" in out


def test_the_effect_is_the_callers(call_json, filled):
    found = call_json("compare", "aaa", "bbb", "--effect", 0.9)
    assert found["counts"]["same"] == 2


def test_the_ids_that_history_prints_are_what_compare_takes(call, filled):
    ids = [line.partition(":")[0] for line in call("history")[1].splitlines() if "climb on" in line]
    assert len(ids) == 2
    assert "1.500" in call("compare", *ids)[1]


def test_through_a_pipe_nothing_is_folded(call, filled, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS")
    main(["history"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["lenet-conv1", "x1000", "steady", "ieee"] in [row[:4] for row in rows]


@pytest.mark.parametrize("lacking", ["row", "status", "time_ms"])
def test_a_record_file_that_lacks_a_key_is_wrong_usage(call, filled, tmp_path, lacking):
    with History() as history:
        made = history.records()[0].to_json()
    made["row"] = dict(made["row"])
    (made if lacking in made else made["row"]).pop(lacking)
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"records": [made]}), encoding="utf-8")
    code, _, err = call("compare", path, path)
    assert code == 2
    assert f"no '{lacking}'" in err or f"required field `{lacking}`" in err


def test_a_problem_is_called_by_its_sizes_and_what_is_true_of_it(call, history_path):
    row = Row("strategy", "naive", "cpu", "ieee", "failed", "3 elements")
    with History() as history:
        run = history.begin("climb", "cpu", "a processor", {"revision": "aaa111"})
        history.add(run, Matmul(3, 5, 7, transpose_b=True), row)
    assert "matmul 3x5x7 transpose_b" in call("history")[1]
