"""On the problems of the records the least estimate is that of the fastest rung, or of one about as
fast."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rooftile.ops import admits, named, parse
from rooftile.runtime.selection import choice
from rooftile.strategies import preference
from rooftile.strategies.contract.costs import NOMINAL_CPU, NOMINAL_GPU

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
RECORDS = (
    "patterns-cpu.json",
    "patterns-cpu-amd-epyc-family-25-model-1.json",
    "patterns-h200.json",
)
MARGIN = 1.06
"""A rung whose recorded time is at most this many times another's is as good as that one."""
SLOWER = {
    "spmv entries-10^7": 1.36,
    "spmv blocks-csr": 1.2,
    "spmv banded-csr": 1.12,
    "spmv random-csr": 1.07,
}
"""Rows of which a slower rung is picked, and how much slower it may be: on the CPU `threads` or
`balanced` where `vectors` is faster, on the GPU `csr_teams` where `csr_merge` is."""


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
def test_the_fastest_rung_of_a_record_is_picked(record, row, no_device):
    kind, precision = "cuda" if "h200" in record else "cpu", row["precision"]
    problem = named(row["operation"], row["name"])
    picked = choice.choose(problem, precision, kind).name
    times = taking(
        problem,
        precision,
        kind,
        {e["name"]: e["time_ms"]["median"] for e in row["entries"] if e.get("time_ms")},
    )
    # Of some rows the record has the picked rung alone.
    if picked in times:
        assert times[picked] <= SLOWER.get(row["key"], MARGIN) * min(times.values())


def test_the_choice_is_near_the_fastest_rung_of_named_problems(no_device):
    """A record of all rungs at several batches, by `benchmarks/costs.py`'s sweeps on an H200."""
    record = json.loads((RESULTS / "choices-h200.json").read_text(encoding="utf-8"))
    regrets = []
    for row in record["rows"]:
        problem = parse(row["operation"], row["shape"])
        if row["label"].endswith("-argmax"):
            problem = dataclasses.replace(problem, returns=("y", "argmax"))
        for precision in ("ieee", "tf32", "fp16"):
            times = taking(problem, precision, "cuda", row["times_us"])
            picked = choice.choose(problem, precision, "cuda").name
            if picked in times:
                regrets.append(times[picked] / min(times.values()))
    assert len(regrets) > 500
    assert np.exp(np.log(regrets).mean()) < 1.03
    assert np.mean(np.array(regrets) <= MARGIN) > 0.9


def taking(problem, precision, kind, times):
    """Those of the times that are of rungs which are picked unnamed and take the problem."""
    rungs = {rung.name: rung for rung in preference(problem.operation, kind)}
    return {
        name: time
        for name, time in times.items()
        if (rung := rungs.get(name)) is not None
        and admits(precision, rung.precision)
        and rung.why_not(problem) is None
    }
