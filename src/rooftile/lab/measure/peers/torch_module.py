"""A problem as a PyTorch module."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from rooftile.ops import AnyArray, Layer, Problem
from rooftile.ops.registry import package_of


def peers_of(operation: str) -> ModuleType | None:
    """An operation's module ``peers`` of other libraries; None without one."""
    name = f"{package_of(operation)}.peers"
    try:
        return importlib.import_module(name) if importlib.util.find_spec(name) else None
    except ModuleNotFoundError:
        return None


def parts_of(
    problem: Problem, parameters: Sequence[AnyArray]
) -> list[tuple[Problem, Sequence[AnyArray]]]:
    """The layers of a problem with their own parameters, or the problem itself."""
    if isinstance(problem, Layer):
        return [(layer, own) for layer, own in problem.shares(parameters)]
    return [(problem, parameters)]


def lacking(problem: Problem, function: str) -> str | None:
    """Why a library does not compute a problem: what ``peers`` of its operations lack."""
    for part, _ in parts_of(problem, ()):
        if not hasattr(peers_of(part.operation), function):
            return f"no operation says how it computes {part.operation}"
        if part is not part.plain or "returns" in part.described_features():
            return f"no operation says how it computes {part.in_words()}"
    return None


def torch_module(problem: Problem, parameters: Sequence[AnyArray]) -> Any:
    """The problem as a PyTorch module holding copies of the parameters."""
    import torch

    modules: list[Any] = []
    for part, own in parts_of(problem, parameters):
        peers: Any = peers_of(part.operation)
        modules += peers.torch_modules(part, own)
    # A Sequential hands one array from module to module.
    alone = len(problem.input_arrays) > 1
    module = modules[0] if alone else torch.nn.Sequential(*modules)
    return module.eval().requires_grad_(False)


def channels_last(problem: Problem) -> bool:
    """True if PyTorch also lays the input out with the channels last."""
    first, _ = parts_of(problem, ())[0]
    return bool(getattr(peers_of(first.operation), "CHANNELS_LAST", False))
