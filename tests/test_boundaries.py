"""Boundaries: no module compares an array's name or imports another operation's private module."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import rooftile
from rooftile.ops import registry
from rooftile.ops.named import named

PACKAGE = Path(rooftile.__file__).parent
OF_NO_ARRAY = {
    *("gives", "kind", "needs", "reduction", "returns"),
    *("schedule", "source", "stays", "text", "what"),
}
"""Attributes and variables with words of their own, some of which are also names of arrays."""
OF_EXPRESSIONS = {"word in ('a', 'b')", "'x' in parts[1]"}
"""The operands of an operator's expression, and the right to run a page of memory."""


@cache
def modules():
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def names_of_arrays():
    found = {"argmax"}
    for operation in registry.operations().values():
        for shape in operation.named:
            found |= {array.name for array in named(operation.name, shape).arrays}
    return found


def literals(node):
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return set().union(*map(literals, node.elts))
    return set()


def compared(tree):
    """The operands of each comparison in a module, of ``match`` too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node, [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            values = [one.value for one in ast.walk(node) if isinstance(one, ast.MatchValue)]
            yield node.subject, [node.subject, *values]


def decisions(tree, names):
    """The comparisons in a module of something with the name of an array."""
    for node, operands in compared(tree):
        attributes = {getattr(one, "attr", getattr(one, "id", "")) for one in operands}
        words = set().union(*map(literals, operands))
        if words & names and not attributes & OF_NO_ARRAY:
            yield ast.unparse(node)


def test_nothing_is_decided_by_an_arrays_name():
    names = names_of_arrays()
    assert {"x", "y", "weights", "dy", "out", "argmax"} <= names
    found = {
        f"{path.relative_to(PACKAGE)}: {text}"
        for path, tree in modules().items()
        for text in decisions(tree, names)
        if text not in OF_EXPRESSIONS
    }
    assert not found


def test_a_decision_by_an_arrays_name_is_found():
    for text in ("array.name == 'x'", "'weights' in given", "name in ('a', 'weights')"):
        assert list(decisions(ast.parse(text), {"x", "weights"})), text
    matched = "match name:\n    case 'x':\n        pass"
    assert list(decisions(ast.parse(matched), {"x"}))


def room_of(parts):
    """What may use its own private modules: a room, or an operation's folder of `strategies`."""
    return parts[:3] if parts[1:2] == ["strategies"] else parts[:2]


def strangers(path, tree):
    """The private modules and names that a module imports from another room or operation."""
    own = room_of(["rooftile", *path.relative_to(PACKAGE).with_suffix("").parts])
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rooftile."):
            module = node.module.split(".")
            for alias in node.names:
                whole = [*module, alias.name]
                private = [p for p in whole[2:] if p.startswith("_") and not p.endswith("__")]
                if private and room_of(whole) != own:
                    yield ".".join(whole)


def test_no_module_imports_what_is_private_to_another_room_or_operation():
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, tree in modules().items()
        for name in strangers(path, tree)
    }
    assert not found


def test_an_import_of_another_operations_private_module_is_found():
    here = PACKAGE / "strategies" / "unique" / "gpu" / "look_back.py"
    of_sort = ast.parse("from rooftile.strategies.sort.gpu._base import key_macros")
    of_unique = ast.parse("from rooftile.strategies.unique.gpu._base import GpuUnique")
    assert list(strangers(here, of_sort))
    assert not list(strangers(here, of_unique))
    assert list(strangers(PACKAGE / "nn" / "layers.py", of_unique))


NO_RUNGS = {"conjugate.cu", "conversion.cu", "flush.cu"}
"""Texts of kernels of a solver and of the formats of sparse matrices, which are no rungs yet; and
what empties caches between two timings."""


def test_the_texts_of_kernels_are_rungs():
    """But those of a laboratory, which measures machines, and of devices."""
    rooms = {"devices", "lab", "strategies"}
    found = {path for path in PACKAGE.rglob("*.cu") if room_of_text(path) not in rooms}
    assert {path.name for path in found} == NO_RUNGS


def room_of_text(path):
    return path.relative_to(PACKAGE).parts[0]
