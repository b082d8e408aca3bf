"""docs/roof.md: in step with its record, and what it makes of one."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("roof_page")


def test_the_page_is_that_of_the_record(script):
    record = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    assert script.PAGE.read_text(encoding="utf-8") == script.page(record)


def test_a_row_has_shares_and_times_of_those_that_ran(script):
    row = {
        "label": "a problem", "strategy": "blocked", "lanes": 0.875,
        "shares": {"rooftile": 0.914, "PyTorch": 0.5}, "best_ms": {"rooftile": 2.0, "PyTorch": 4.0},
    }  # fmt: skip
    line = script._shares([row])[-1]
    assert line == "| a problem | `blocked` | 88% | 91% | - | 50% | 2 | - | 4 |"
