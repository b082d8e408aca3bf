"""docs/understand/analysis.md: in step with its record, what it makes of one, its examples."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("analysis_page")


def test_the_page_is_in_step_with_its_record(script):
    text = script.PAGE.read_text(encoding="utf-8")
    assert script.page(text, script.read()) == text
    assert script.WHOLE.read_text(encoding="utf-8") == script.whole(script.read())


def test_a_record_becomes_a_table_with_its_reasons(script):
    row = {"kernel": "conv2d", "what": "loads, L1", "unit": "B", "predicted": 3e6, "counted": 2e6,
           "off": 0.5, "why": "kept in registers"}  # fmt: skip
    close = {**row, "what": "occupancy", "unit": "", "predicted": 0.75, "counted": 0.75, "off": 0.0,
             "why": ""}  # fmt: skip
    run = {
        "shape": "lenet-conv1", "strategy": "naive", "compared": [row, close], "bound_ms": 0.5,
        "bound_by": "arithmetic", "time_ms": 2.0, "cold_ms": None,
        "occupancy": {"predicted": 0.75, "driver": 0.75},
    }  # fmt: skip
    record = {
        "environment": {
            "time": "2026-11-21T10:00:00", "device": {"name": "A GPU", "driver": "CUDA 13.0"}
        },
        "without_counters": "",
        "runs": [run],
    }  # fmt: skip
    text = "\n".join(script.lines(record))
    assert "A GPU, CUDA 13.0, 2026-11-21." in text
    assert "| `naive` | 0.5 | arithmetic | 2 |  | 25 % | 75 % | 75 % |" in text
    assert "| `naive` | `conv2d` | loads, L1 | 3.000 MB | 2.000 MB | +50 % |" in text
    assert "| `naive` | `conv2d` | occupancy | 75 % | 75 % | +0 % |" in text
    assert "- loads, L1: kept in registers (`naive` `conv2d`)" in text
    begin, end = "<!-- counted: begin -->", "<!-- counted: end -->"
    made = script.page(f"before\n{begin}\nformer words\n{end}\nafter", record)
    assert made.startswith("before\n")
    assert made.endswith("\nafter")
    assert "former words" not in made
    assert "| `naive` | 0.5 | arithmetic | 2 | 25 % |" in made
    assert "1 of 2 predictions are within" in made
    assert "- loads, L1: kept in registers\n" in made


def test_the_examples_run(script):
    text = script.PAGE.read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    for code in examples:
        exec(code, {})
