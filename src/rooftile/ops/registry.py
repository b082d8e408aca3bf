"""The operations of this package, and of other packages.

An operation of another package is a package of its own::

    my_operation/
        __init__.py
        problem.py      the problem, a subclass of `Problem`, and its NAMED problems; if the first
                        of them is slow on a CPU, TEXTBOOK, and LARGE, see `Operation`
        ladder.py       PREFERENCE: its strategies, the fastest first
        cpu/, gpu/      one file a strategy, with an instance called STRATEGY
        peers.py        other libraries that compute the same, if there are any

It is made known by `register`, by the environment's ``ROOFTILE_OPERATIONS`` (packages, separated
by commas), which child processes inherit, or by an entry point of the group
``rooftile.operations``.  ``docs/do/operations.md`` shows one from start to end.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from rooftile.errors import InputError, unknown
from rooftile.ops.climbed import NONE, Climbed
from rooftile.ops.problem import Problem

_VARIABLE = "ROOFTILE_OPERATIONS"
_GROUP = "rooftile.operations"
registered: dict[str, Operation] = {}


@dataclass(frozen=True)
class Operation:
    """One operation: what its problems are, and where its strategies lie."""

    name: str
    problem: type[Problem]
    named: Mapping[str, object]
    """Named problems: a problem, or how to build one for a batch and the batch by default."""
    package: str
    """The package of its strategies, with ``ladder``, ``cpu`` and ``gpu`` in it."""
    summary: str = ""
    """Its purpose, in one sentence."""
    textbook: Climbed = NONE
    """The problem that is climbed on a CPU by default: even loops on one thread take seconds at
    most. It is TEXTBOOK of the module, else the first named problem."""
    large: Climbed = NONE
    """A problem for the fastest strategies: LARGE of the module, else the first named problem."""

    @property
    def has_batch(self) -> bool:
        """True if its problems have a number of independent items, in a field ``batch``."""
        fields = dataclasses.fields(self.problem)  # type: ignore[arg-type]
        return any(field.name == "batch" for field in fields)


def register(package: str) -> Operation:
    """Make the operation of an importable package known.  Raises `InputError`."""
    try:
        module = importlib.import_module(f"{package}.problem")
    except ImportError as error:
        raise InputError(
            "operation", f"package {package!r} ({error})", "an importable package with problem.py"
        ) from error
    found = _of_module(module, package)
    registered[found.name] = found
    return found


def operations() -> dict[str, Operation]:
    """All that are known, by name."""
    return dict(sorted({**_own(), **_of_others(), **registered}.items()))


def operation(name: str) -> Operation:
    """The operation of a name.  Raises `InputError`."""
    known = operations()
    if name not in known:
        raise unknown("operation", name, known)
    return known[name]


def package_of(name: str) -> str:
    """The package of an operation's strategies, also of one that has no problems by name."""
    own = f"rooftile.strategies.{name}"
    if name in registered:
        return registered[name].package
    if importlib.util.find_spec(own) is not None:
        # Nobody has to be asked, which would import all operations.
        return own
    known = operations()
    return known[name].package if name in known else own


@cache
def _own() -> dict[str, Operation]:
    package = importlib.import_module("rooftile.ops")
    names = [info.name for info in pkgutil.walk_packages(package.__path__, "rooftile.ops.")]
    modules = (importlib.import_module(name) for name in names)
    found = [
        _of_module(module, f"rooftile.strategies.{module.__name__.rpartition('.')[2]}")
        for module in modules
        if hasattr(module, "NAMED")
    ]
    return {one.name: one for one in found}


@cache
def _of_others() -> dict[str, Operation]:
    import importlib.metadata

    packages = [name.strip() for name in os.environ.get(_VARIABLE, "").split(",")]
    packages += [point.value for point in importlib.metadata.entry_points(group=_GROUP)]
    return {one.name: one for one in map(register, filter(None, packages))}


def _of_module(module: ModuleType, package: str) -> Operation:
    named = getattr(module, "NAMED", None)
    kinds = [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Problem)
        and item.__module__ == module.__name__
    ]
    if len(kinds) != 1 or not isinstance(named, Mapping):
        raise InputError(
            "operation",
            f"{module.__name__} with {len(kinds)} problems",
            "one subclass of Problem, and a mapping NAMED of its named problems",
        )
    first = Climbed.of(next(iter(named)))
    textbook, large = (getattr(module, name, first) for name in ("TEXTBOOK", "LARGE"))
    for shape in (*textbook.shapes, *large.shapes):
        if shape not in named:
            raise InputError("operation", f"{module.__name__} with {shape!r}", "a name of NAMED")
    summary = _summary(module)
    return Operation(kinds[0].operation, kinds[0], named, package, summary, textbook, large)


def _summary(module: ModuleType) -> str:
    """The first paragraph of what a module says of itself, without the operation's name and marks
    of code."""
    paragraph = (module.__doc__ or "").partition("\n\n")[0]
    return " ".join(re.sub(r"^`\w+`: ", "", paragraph).replace("`", "").split())
