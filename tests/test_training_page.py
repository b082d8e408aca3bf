"""The table of training steps in docs/do/training.md, and the record that it is made of."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("training_page")


def test_the_page_has_what_the_record_says(script):
    text = script.PAGE.read_text(encoding="utf-8")
    for records, lines, name in script.PARTS:
        made = script.part(records, lines)
        assert made, records
        assert script.filled(text, made, name) == text
    assert script.WHOLE.read_text(encoding="utf-8") == script.whole()


def test_each_processor_has_a_table_of_its_own(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    about = {"cores": 2, "load": 0.0, "torch": "2.11", "time": "2026-01-01T00:00"}
    times = {f"{who}_ms": {"min": t} for who, t in (("ours", 1.0), ("eager", 4.5), ("compiled", 6))}
    for cpu in ("one", "another"):
        row = {"network": "lenet5", "batch": 64, **times}
        record = {"environment": {**about, "cpu": cpu}, "rows": [row]}
        (tmp_path / f"training-cpu-{cpu}.json").write_text(json.dumps(record), encoding="utf-8")
    lines = script.part("training-cpu-*.json", script.on_the_cpu)
    assert [line.split(",")[0] for line in lines if "2 cores" in line] == ["another", "one"]
    assert lines.count("| `lenet5` | 64 | 1.00 | 4.50 | 6.00 | 4.50 | 6.00 | 4 |") == 2


def test_a_table_says_what_was_reached_of_which_goal(script):
    first = {"network": "lenet5", "batch": 64, "precision": "bf16"}
    rows = [{**first, "launches": 14, "ours_ms": 0.1, "torch_ms": 0.5}]
    alone = {key: value for key, value in rows[0].items() if key != "torch_ms"}
    rows += [{**rows[0], "batch": 65, "time": "before"}, {**alone, "precision": "fp16"}]
    record = {"device": "a GPU", "libraries": "none", "time": "today", "rows": rows}
    *_, known, other, fp16, _ = script.table(record)
    assert known == "| `lenet5` | 64 | bf16 | 14 | 0.100 | 0.500 | 5.0 | 0.04 | today |"
    assert other.endswith("| 5.0 | - | before |")
    assert fp16.endswith("| 0.100 | - | - | - | today |")
    *_, known, other, _ = script.short_table(record)
    assert known == "| `lenet5` | 64 | bf16 | 0.100 | 0.500 | 5.0 |"
    assert other == "| `lenet5` | 65 | bf16 | 0.100 | 0.500 | 5.0 |"


def test_a_whole_training_on_a_gpu_stands_beside_pytorchs(script):
    row = {"command": "rooftile train lenet5", "model": "lenet5", "accuracy": {"10000": 0.9182}}
    row |= {"seconds": 4.0, "processor_seconds": 5.0, "killed_in_epoch": 3, "same_bits": True}
    row |= {"epochs": [{"epoch": 1, "loss": 0.5, "accuracy": None}]}
    row |= {"torch": {"torch": "2.11", "accuracy": 0.9101, "seconds": 20.0}}
    record = {"environment": {"time": "2026-01-01T00:00"}, "gpu": "a GPU", "rows": [row]}
    where, _, line, *table = script.epochs(record)
    assert script.trained(record)[:3] == [where, "", line]
    assert where == "2026-01-01, a GPU:"
    assert "after 4.0 s, everything included; killed in epoch 3" in line
    assert line.endswith("PyTorch 2.11: 91.01 % after 20.0 s, 5.0 times.")
    assert "| `lenet5` | 1 | 0.5000 | - |" in table


def test_launches_stand_beside_their_floors(script):
    parts = [
        {"name": "gather", "layer": "", "us": 100.0},
        {"name": "conv2d naive", "layer": "conv1", "us": 60.0, "floor_us": 20.0},
        {"name": "sgd", "layer": "", "us": 2.0},
    ]
    network, batch = script.LARGE
    large = {"network": network, "batch": batch, "precision": "tf32", "parts": parts}
    record = {"device": "a GPU", "rows": [large, {**large, "batch": 1}, {**large, "parts": []}]}
    *_, gather, conv, _ = script.launches(record)
    assert gather == "| tf32 | - | `gather` | 100 | - | - |"
    assert conv == "| tf32 | `conv1` | `conv2d naive` | 60 | 20 | 3.0x |"
    assert script.launches({**record, "rows": []}) == [""]
