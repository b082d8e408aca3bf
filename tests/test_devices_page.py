"""docs/learn/devices.md: in step with the records, and what it makes of what a command printed."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("devices_page")


def test_the_page_is_in_step_with_the_records(script):
    text = script.PAGE.read_text(encoding="utf-8")
    assert script.page(text, script.records()) == text


def test_what_was_printed_becomes_records_and_tables(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    measured = {
        "latencies": [
            {"level": "registers", "footprint_bytes": 0, "ns": 2.0, "cycles": 4.0},
            {"level": "memory", "footprint_bytes": 2**28, "ns": 600.0, "cycles": None},
        ],
        "strided_reads": [{"stride": 1, "gbps": 4000.0}, {"stride": 8, "gbps": 500.0}],
        "strided_bytes": 2**30,
    }
    devices = [
        {"kind": "cpu", "name": "A CPU", "microbenchmarks": measured},
        {"kind": "cuda", "name": "NVIDIA H200 X", "microbenchmarks": measured},
        {"kind": "cuda", "name": None, "microbenchmarks": None},
        {"kind": "opencl", "name": "NVIDIA H200 X", "microbenchmarks": measured},
    ]
    environment = {"time": "2026-11-22T10:00", "load": 0.5, "system": "Linux"}
    script.take({"devices": devices, "environment": environment})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["devices-cpu.json", "devices-h200-x.json"]
    assert json.loads((tmp_path / names[1]).read_text())["device"] == "NVIDIA H200 X"
    text = script.page(
        "words\n<!-- measured: begin -->\nold\n<!-- measured: end -->\n", script.records()
    )
    assert "| registers | - | 2 | 4 |" in text
    assert "| memory | 256 MiB | 600 | - |" in text
    assert "| 8 | 500 | 12% |" in text
    assert "old" not in text
    assert text.startswith("words\n")
