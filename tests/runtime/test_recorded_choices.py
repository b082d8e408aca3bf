"""On the problems of the records estimates pick a rung as fast as the preferred one, or faster."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooftile.ops import named
from rooftile.runtime.selection import choice
from rooftile.strategies import ladder
from rooftile.strategies.contract.costs import NOMINAL_CPU, NOMINAL_GPU

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
RECORDS = (
    "patterns-cpu.json",
    "patterns-cpu-amd-epyc-family-25-model-1.json",
    "patterns-h200.json",
)
MARGIN = 1.06
"""A rung whose recorded time is at most this many times another's is as good as that one."""


def rows():
    for name in RECORDS:
        for row in json.loads((RESULTS / name).read_text(encoding="utf-8"))["rows"]:
            if "picked" in row and isinstance(row.get("name"), str):
                yield pytest.param(name, row, id=f"{name.removesuffix('.json')} {row['key']}")


@pytest.fixture
def no_device(monkeypatch):
    """No file of ceilings and no GPU: the described device alone."""
    described = SimpleNamespace(description=SimpleNamespace(architecture="sm_90"))
    monkeypatch.setattr(choice, "lent_gpu", lambda device: described)
    speeds = {"cpu": NOMINAL_CPU, "cuda": NOMINAL_GPU}
    monkeypatch.setattr(choice, "speeds_of", speeds.__getitem__)
    monkeypatch.setattr(choice, "kept", {})


@pytest.mark.parametrize(("record", "row"), [*rows()])
def test_an_estimate_picks_no_slower_rung_than_preference(record, row, no_device, monkeypatch):
    kind = "cuda" if "h200" in record else "cpu"
    problem = named(row["operation"], row["name"])
    rungs = {rung.name for rung in ladder(row["operation"], kind)}
    times = {
        entry["name"]: entry["time_ms"]["median"]
        for entry in row["entries"]
        if entry["name"] in rungs and entry.get("time_ms")
    }
    picked = choice.choose(problem, row["precision"], kind).name
    choice.kept.clear()
    monkeypatch.setattr(choice, "fastest", lambda rungs, *_: rungs[0])
    preferred = choice.choose(problem, row["precision"], kind).name
    if picked != preferred:
        assert times[picked] <= MARGIN * times[preferred]
