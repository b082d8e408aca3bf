"""The look-up of an operation's strategies: its ladder, and its preferred ones."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from rooftile.errors import InputError, unknown
from rooftile.ops.registry import package_of
from rooftile.strategies.contract.costs import Costs
from rooftile.strategies.contract.renamed import current
from rooftile.strategies.contract.strategy import Strategy


@cache
def ladder(operation: str, kind: str = "cpu") -> tuple[Strategy, ...]:
    """Every strategy of an operation for a kind of device, in the order in which to meet them.

    LADDER of the operation's module ``ladder`` has their names, for the CPU and for both kinds of
    GPU, and the file ``costs.json`` of the operation's folder what `Strategy.costs` holds.  A
    module of the folder ``cpu`` or ``gpu`` of the operation's package, or of a folder of theirs,
    brings one as ``STRATEGY`` or several as ``STRATEGIES``; modules whose names begin with an
    underscore bring none.  Raises `InputError` for an operation without strategies on the kind, and
    `TypeError` where LADDER does not name them all.
    """
    where = _folder(kind)
    try:
        package = importlib.import_module(f"{package_of(operation)}.{where}")
    except ModuleNotFoundError:
        raise InputError("operation", repr(operation), f"one with strategies on {kind}") from None
    rungs = {rung.name: rung for rung in _strategies_in(package)}
    names = _table(operation, "LADDER").get(where, ())
    if differing := sorted(rungs.keys() ^ set(names)):
        raise TypeError(f"LADDER of {operation} and its modules on {where} differ in {differing}")
    costs = _costs(operation, where)
    for rung in rungs.values():
        rung.costs = costs.get(rung.name) or costs.get(rung.alike, {})
    return tuple(rungs[name] for name in names if kind in rungs[name].devices)


@cache
def preference(operation: str, kind: str) -> tuple[Strategy, ...]:
    """The strategies that are picked without being named, the fastest first.

    PREFERENCE of the operation's module ``ladder`` has their names; without it all are picked, the
    last of LADDER first.  Raises `InputError`.
    """
    rungs, table = _by_name(operation, kind), _table(operation, "PREFERENCE")
    names = table.get(_folder(kind), () if table else tuple(reversed(rungs)))
    return tuple(rungs[name] for name in names if name in rungs)


def strategy(operation: str, name: str, kind: str = "cpu") -> Strategy:
    """The strategy of an operation by name, also by one of `RENAMED`.  Raises `InputError`."""
    rungs = _by_name(operation, kind)
    if not isinstance(name, str):
        raise InputError("strategy", repr(name), f"None or one of {[*rungs]}")
    if current(name) not in rungs:
        elsewhere = [other for other in ("cpu", "cuda") if _has(operation, current(name), other)]
        raise unknown(
            "strategy", name, rungs, f", or {name!r} on {elsewhere[0]}" if elsewhere else ""
        )
    return rungs[current(name)]


def _has(operation: str, name: str, kind: str) -> bool:
    """True if an operation has a strategy of this name on a kind of device."""
    try:
        return name in _by_name(operation, kind)
    except InputError:
        return False


def _by_name(operation: str, kind: str) -> dict[str, Strategy]:
    return {rung.name: rung for rung in ladder(operation, kind)}


def _folder(kind: str) -> str:
    """The folder with the strategies of a kind of device, which tables call them by."""
    return "cpu" if kind == "cpu" else "gpu"


def _strategies_in(package: ModuleType) -> Iterator[Strategy]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.name.rpartition(".")[2].startswith("_"):
            module = importlib.import_module(info.name)
            yield from getattr(module, "STRATEGIES", ())
            if hasattr(module, "STRATEGY"):
                yield module.STRATEGY


def _costs(operation: str, where: str) -> Mapping[str, Mapping[str, Costs]]:
    """The costs in the operation's folder, by rung and case: none where there is no file."""
    package = importlib.import_module(package_of(operation))
    path = Path(package.__path__[0], "costs.json")
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8")).get(where, {})
    return {
        name: {case: Costs(*costs) for case, costs in cases.items()}
        for name, cases in found.items()
    }


@cache
def _table(operation: str, name: str) -> Mapping[str, Any]:
    """A table of the operation's module ``ladder``, by folder: empty where there is none."""
    module = f"{package_of(operation)}.ladder"
    if importlib.util.find_spec(module) is None:
        return {}
    found: Mapping[str, Any] = getattr(importlib.import_module(module), name, {})
    return found


__all__ = ["ladder", "preference", "strategy"]
