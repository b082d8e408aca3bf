"""Every shared case whose kind concerns the analysis room: answers checked by hand elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from .case_adapters import ADAPTERS, SKIPPED

_CASES = Path(__file__).parents[2] / ".." / "shared" / "analysis_cases.json"
_AS_SETS = {
    "divergence_block_values": set,
    "layout_formats": lambda lists: [set(names) for names in lists],
    "coalescing": lambda named: {kernel: set(names) for kernel, names in named.items()},
    "copy_overlap": lambda named: {rule: {*map(tuple, pairs)} for rule, pairs in named.items()},
}
"""Kinds whose lists are sets or pairs, in no order."""


def _cases():
    if not _CASES.exists():
        reason = "no ../shared/analysis_cases.json beside the repository"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    cases = json.loads(_CASES.read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["id"], marks=_marks(case["kind"])) for case in cases]


def _marks(kind):
    return [pytest.mark.skip(reason=SKIPPED[kind])] if kind in SKIPPED else []


def check(got, expected, rtol):
    if isinstance(expected, dict):
        assert set(got) == set(expected)
        for key in expected:
            check(got[key], expected[key], rtol)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for ours, theirs in zip(got, expected, strict=True):
            check(ours, theirs, rtol)
    elif isinstance(expected, float) or (isinstance(expected, int) and rtol is not None):
        assert math.isclose(got, expected, rel_tol=rtol or 1e-5)
    else:
        assert got == expected


@pytest.mark.parametrize("case", _cases())
def test_case(case):
    kind, expected = case["kind"], case["answer"]
    got = ADAPTERS[kind](case["inputs"])
    if kind in _AS_SETS:
        assert _AS_SETS[kind](got) == _AS_SETS[kind](expected)
    else:
        check(got, expected, case.get("rtol"))


def test_every_kind_is_answered_or_skipped_with_a_reason():
    assert not set(ADAPTERS) & set(SKIPPED)
    assert all(SKIPPED.values())
    if _CASES.exists():
        kinds = {case["kind"] for case in json.loads(_CASES.read_text(encoding="utf-8"))}
        assert kinds <= set(ADAPTERS) | set(SKIPPED)
