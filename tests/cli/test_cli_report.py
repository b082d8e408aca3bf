from __future__ import annotations

import json
import sqlite3

import pytest

SHAPE = "channels=1,height=12,width=14,maps=2,mask=3x3"


@pytest.fixture
def climbed(call_json, known_roof, history_path, tmp_path):
    """A file with what climb printed."""
    found = call_json("climb", "conv2d", "--shape", SHAPE, "--batch", 2, "--strategy", "loops")
    path = tmp_path / "climb.json"
    path.write_text(json.dumps(found))
    return path


def test_a_page_from_what_climb_and_run_printed(call, call_json, climbed, weights, tmp_path):
    network = tmp_path / "run.json"
    network.write_text(json.dumps(call_json("run", weights, "--limit", 8, "--batch", 8)))
    out = tmp_path / f"{80 * 'p'}.html"
    code, said, _ = call("report", climbed, network, "--out", out)
    assert code == 0
    assert said.splitlines()[0] == str(out)
    assert said.splitlines()[1:] == ["ladders 1, networks 1, experiments 0, trainings 0, rows 1"]
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "loops" in text
    assert "whole plan" in text


def test_a_page_from_the_history(call_json, climbed, tmp_path):
    out = tmp_path / "page.html"
    found = call_json("report", "--out", out)
    none = {"networks": 0, "experiments": 0, "trainings": 0}
    assert found == {"out": str(out), "ladders": 1, **none, "rows": 1}
    assert "loops" in out.read_text(encoding="utf-8")


def test_an_empty_history_says_what_would_fill_it(call, history_path, tmp_path):
    code, _, err = call("report", "--out", tmp_path / "page.html")
    assert code == 2
    assert err == (
        "rooftile: records: got none; expected FILES of climb --json, or a history, which climb "
        "writes\n"
    )
    assert not (tmp_path / "page.html").exists()


def test_nothing_of_an_operation_or_a_device_is_said(call, climbed, tmp_path):
    for option, value in (("--operation", "linear"), ("--device", "cuda")):
        code, _, err = call("report", climbed, option, value, "--out", tmp_path / "page.html")
        assert code == 2
        assert f"none of {value}" in err or f"none on {value}" in err


def test_a_file_that_is_something_else_is_named(call, history_path, tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"rows": []}')
    code, _, err = call("report", path)
    assert code == 2
    assert "other.json" in err


def test_a_file_that_is_missing_is_named(call, history_path, tmp_path):
    code, _, err = call("report", tmp_path / "none.json")
    assert code == 2
    assert "none.json" in err


def test_a_record_that_is_no_result_is_left_out(call, climbed, history_path, tmp_path):
    with sqlite3.connect(history_path) as history:
        columns = (
            "run, time, operation, problem, batch, kind, strategy, precision, status, fingerprint"
        )
        history.execute(
            f"INSERT INTO results ({columns}, row) SELECT {columns}, "
            "json_set(row, '$.gflops', null) FROM results"
        )
    code, said, err = call("report", "--out", tmp_path / "page.html")
    assert code == 0
    assert said.endswith("rows 1\n")
    assert "left out: 1 records of the history are no results" in err
