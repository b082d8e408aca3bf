"""Modules that documentation named before they moved."""

from __future__ import annotations

import importlib

import pytest

MOVED = {
    "rooftile.lab.climb": ("rooftile.lab.measure.climb", "climb"),
    "rooftile.lab.history.store": ("rooftile.lab.measure.history.store", "records"),
    "rooftile.lab.records": ("rooftile.lab.measure.records", "Row"),
    "rooftile.lab.report": ("rooftile.lab.show.report", "Content"),
    "rooftile.strategies.gpu": ("rooftile.strategies.contract.gpu", "GpuStrategy"),
}


@pytest.mark.parametrize("old", MOVED)
def test_a_documented_name_is_found_where_it_was(old):
    new, name = MOVED[old]
    found, moved = importlib.import_module(old), f"{old} has moved to {new}"
    with pytest.warns(DeprecationWarning, match=moved) as told:
        exec(f"from {old} import {name}; same = {name}", space := {})
    assert space["same"] is getattr(importlib.import_module(new), name)
    assert {warning.filename for warning in told} == {"<string>"}
    with (
        pytest.warns(DeprecationWarning, match=moved),
        pytest.raises(AttributeError, match="no_such_name"),
    ):
        _ = found.no_such_name
