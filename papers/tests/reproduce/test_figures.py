"""The published numbers: each once, with document and place."""

from __future__ import annotations

import json

import pytest

from rooftile.errors import InputError
from rooftile_papers.reproduce import figures


def test_every_table_has_its_place_and_numbers():
    for name, one in figures.tables().items():
        assert name == one.id
        assert one.document in figures.documents()
        assert one.place
        assert one.figures


def test_every_number_stands_once():
    """No id is that of two tables, and no two tables of one place hold the same numbers."""
    ids = [one["id"] for path in figures.FOLDER.glob("*.json")
           for one in json.loads(path.read_text(encoding="utf-8"))["tables"]]  # fmt: skip
    assert len(ids) == len(set(ids)) == len(figures.tables())
    seen = {}
    for one in figures.tables().values():
        key = one.document, one.place, one.unit, tuple(figure.value for figure in one.figures)
        assert key not in seen, (one.id, seen.get(key))
        seen[key] = one.id


def test_a_number_is_found_by_its_key():
    assert figures.table("opencl.sweep")["56x64"] == 655.969
    with pytest.raises(InputError, match="opencl"):
        figures.table("opencl.sweeps")
    with pytest.raises(InputError, match="56x64"):
        figures.table("opencl.sweep")["56x65"]
