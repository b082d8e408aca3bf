"""The published numbers, each once, with the document and the place that it stands at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rooftile.errors import unknown

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Figure:
    """One published number."""

    table: str
    """The id of its table, unique among all documents."""
    key: str
    """The key of the number in its table: ``56x64``, ``layer 1 of 100``."""
    value: float
    unit: str
    document: str
    place: str

    @property
    def id(self) -> str:
        """``table/key``."""
        return f"{self.table}/{self.key}"


@dataclass(frozen=True)
class Table:
    """Numbers that stand together in a document."""

    id: str
    document: str
    place: str
    unit: str
    about: str
    figures: tuple[Figure, ...]

    def __getitem__(self, key: str) -> float:
        """The number of this key.  Raises `InputError`."""
        found = {figure.key: figure.value for figure in self.figures}
        if key not in found:
            raise unknown(f"figure of {self.id}", key, found)
        return found[key]


@cache
def tables() -> dict[str, Table]:
    """Every published table by its id."""
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for entry in document["tables"]:
            known = document["document"], entry["place"]
            figures = tuple(
                Figure(entry["id"], key, value, entry["unit"], *known)
                for key, value in entry["figures"].items()
            )
            found[entry["id"]] = Table(entry["id"], *known, entry["unit"], entry["about"], figures)
    return found


def table(name: str) -> Table:
    """The table of an id.  Raises `InputError`."""
    if name not in tables():
        raise unknown("table", name, tables())
    return tables()[name]


def documents() -> dict[str, str]:
    """What each document is about, by its name."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    return {entry["document"]: entry["about"] for entry in found}
