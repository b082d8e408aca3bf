"""Every rung of `spmv`: all formats, numbers and indices, with and without an update."""

from __future__ import annotations

import pytest

from rooftile.lab.judge.verify import verify
from rooftile.ops.sparse.rows import FORMS
from rooftile.ops.sparse.spmv import Spmv
from rooftile.strategies import preference
from rooftile.strategies.spmv.cpu import vectors
from tests.support.every_rung import EveryRung, Wrong

SIZES = {
    "ell": {"width": 20},
    "hybrid": {"width": 6, "tail": 100},
    "jds_t": {"width": 40},
    "dia": {"width": 7},
    "bsr": {"width": 60, "block": 4},
}


def each_form(*more: str, updated: bool, forms=FORMS) -> tuple[Spmv, ...]:
    """A small problem of every format."""
    return tuple(
        Spmv(301, 157, 1400, form, *more, updated=updated, **SIZES.get(form, {})) for form in forms
    )


PLAIN = each_form(updated=False)


class TestRungs(EveryRung):
    problems = (
        *each_form("float16", "int64", updated=True, forms=("csr", "csc", "hybrid")),
        *each_form("float64", updated=True, forms=("bsr", "coo", "csc", "jds_t")),
        Spmv(301, 157, 1400, tiled=True),
        *PLAIN,
    )
    near = PLAIN
    wrong = Wrong(
        Spmv(301, 157, 1400),
        ("csr_threads", "row_offsets[row + 1]", "row_offsets[row + 1] - 1"),
        ("csr_merge", "own.total + head", "head"),
    )
    compiled = each_form("float64", updated=True)


def test_every_format_is_computed_without_naming_a_rung():
    for kind in ("cpu", "opencl"):
        for problem in PLAIN:
            taking = [rung.why_not(problem) is None for rung in preference("spmv", kind)]
            assert any(taking), (kind, problem)


@pytest.mark.parametrize("hardware", [True, False])
def test_rows_end_right_however_this_processor_gathers(hardware, monkeypatch):
    monkeypatch.setattr(vectors, "gathers_in_hardware", lambda: hardware)
    rung = vectors.Vectors()
    monkeypatch.setattr(rung, "piece", vectors._piece(), raising=False)
    found = verify(PLAIN[FORMS.index("csr")], rung, hard=True, neighbours=False)
    assert found.passed, found
