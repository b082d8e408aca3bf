"""Problems by name, or from ``key=value`` pairs as the command line gives them."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from types import ModuleType

from rooftile.errors import InputError
from rooftile.ops.pooling import Pool
from rooftile.ops.problem import Problem


def _modules() -> dict[str, ModuleType]:
    """Operation modules by the operation's name: those that have named problems."""
    package = importlib.import_module("rooftile.ops")
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    modules = {name: importlib.import_module(f"rooftile.ops.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "NAMED")}


def operations() -> list[str]:
    """Names of the operations."""
    return sorted(_modules())


def names(operation: str) -> list[str]:
    """Names of an operation's problems; none of an unknown operation."""
    modules = _modules()
    return sorted(modules[operation].NAMED) if operation in modules else []


def named(operation: str, shape: str, batch: int | None = None) -> Problem:
    """The problem of an operation called ``shape``, for ``batch`` (or its own default)."""
    modules = _modules()
    if operation not in modules:
        raise InputError("operation", repr(operation), f"one of {sorted(modules)}")
    problems = modules[operation].NAMED
    if shape not in problems:
        raise InputError("shape", repr(shape), f"one of {sorted(problems)}, or key=value pairs")
    build, default = problems[shape]
    problem: Problem = build(default if batch is None else batch)
    return problem


def parse(operation: str, shape: str, batch: int | None = None) -> Problem:
    """A named problem, or one from ``key=value`` pairs separated by commas.

    Values are integers, ``AxB`` pairs, or words; a pool is ``max:2``, ``average:3x3:2``
    (kind, window, stride).  Example:
    ``channels=3,height=64,width=64,maps=8,mask=5x5,padding=2x2,pool=max:2``.
    """
    if "=" not in shape:
        return named(operation, shape, batch)
    modules = _modules()
    if operation not in modules:
        raise InputError("operation", repr(operation), f"one of {sorted(modules)}")
    kind = next(
        item
        for item in vars(modules[operation]).values()
        if getattr(item, "operation", None) == operation
    )
    fields = {field.name: field for field in dataclasses.fields(kind)}
    pairs = ("mask", "stride", "padding")
    values: dict[str, object] = {"batch": 1 if batch is None else batch}
    for item in shape.split(","):
        key, _, text = item.partition("=")
        if key not in fields:
            raise InputError("shape", repr(key), f"a key among {sorted(fields)}")
        values[key] = _value(key, text, as_pair=key in pairs)
    missing = [
        name
        for name, field in fields.items()
        if name not in values and field.default is dataclasses.MISSING
    ]
    if missing:
        raise InputError("shape", repr(shape), f"values for {missing} too")
    problem: Problem = kind(**values)
    return problem


def _value(key: str, text: str, *, as_pair: bool) -> object:
    if key == "pool":
        kind, *sizes = text.split(":")
        if not 1 <= len(sizes) <= 2:
            raise InputError("shape pool", repr(text), "kind:window or kind:window:stride")
        return Pool.of(kind, *(_pair(key, size) for size in sizes))
    if as_pair:
        return _pair(key, text)
    return text if key == "activation" else _integer(key, text)


def _integer(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"shape {key}", repr(text), "an integer") from None


def _pair(key: str, text: str) -> tuple[int, int]:
    first, _, second = text.partition("x")
    return _integer(key, first), _integer(key, second or first)
