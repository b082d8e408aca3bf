"""`rooftile reproduce` and `rooftile list experiments`."""

from __future__ import annotations

import json

from rooftile_papers.reproduce.catalogue import EXPERIMENTS


def test_without_an_experiment_it_lists_what_each_needs(call, call_json):
    code, out, err = call("reproduce")
    assert code == 0, err
    for name in EXPERIMENTS:
        assert name in out
    assert call("reproduce", "--list")[1] == out == call("list", "experiments")[1]
    found = call_json("reproduce", "--list")["experiments"]
    assert [one["name"] for one in found] == list(EXPERIMENTS)
    for one in found:
        assert one["published_numbers"] > 0
        for device in one["devices"]:
            assert device["seconds"] >= device["quick_seconds"] > 0


def test_an_experiment_is_run_shown_and_recorded(call, call_json, tmp_path):
    path = tmp_path / "record.json"
    code, out, err = call("reproduce", "exams", "--record", path)
    assert code == 0, err
    assert "cannot be" in out
    kept = json.loads(path.read_text())["records"]
    (again,) = call_json("reproduce", "exams")["records"]
    assert again["verdicts"] == kept[0]["verdicts"]
    assert again["device"] == "cpu"


def test_what_is_unknown_is_wrong_usage(call):
    for arguments in (("nonsense",), ("opencl-conv",), ("exams", "--device", "tpu"),
                      ("exams", "--device", "opencl:99")):  # fmt: skip
        code, out, err = call("reproduce", *arguments)
        assert (code, out) == (2, ""), err
        assert "rooftile:" in err
