"""docs/understand/roof.md: in step with its record, and what it makes of one."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("roof_page")


def test_the_page_is_that_of_the_records(script):
    assert script.records()
    assert script.PAGE.read_text(encoding="utf-8") == script.page(script.records())


def test_each_processor_has_a_record_of_its_own(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    for cpu in ("Intel(R) Xeon(R) Processor (family 6 model 207)", "AMD EPYC (family 25 model 1)"):
        script.keep({"environment": {"cpu": cpu}})
    assert [record["environment"]["cpu"][:3] for record in script.records()] == ["AMD", "Int"]


def test_a_row_has_shares_and_times_of_those_that_ran(script):
    row = {
        "label": "a problem", "strategy": "blocked", "lanes": 0.875,
        "shares": {"rooftile": 0.914, "PyTorch": 0.5}, "best_ms": {"rooftile": 2.0, "PyTorch": 4.0},
    }  # fmt: skip
    line = script._shares([row])[-1]
    assert line == "| a problem | `blocked` | 88% | 91% | - | 50% | 2 | - | 4 |"
