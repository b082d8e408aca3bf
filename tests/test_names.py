"""Each public class has its name for itself: none is in two rooms of the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import rooftile

PACKAGE = Path(rooftile.__file__).parent
PREPARED = {"Conv2d", "Linear"}
"""Public names of operations whose parameters stay: each is called as its problem is."""


def test_no_class_name_is_in_two_rooms():
    rooms = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                rooms[node.name].add(path.relative_to(PACKAGE).parts[0])
    assert {name for name, where in rooms.items() if len(where) > 1} == PREPARED
