"""What a strategy is, and how the strategies of an operation are found."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from rooftile.errors import InputError, UnsupportedProblem
from rooftile.ops import Float32, Precision

Bound = Callable[[Float32, Float32], None]
"""``bound(x, out)``: the strategy with its parameters packed and its workspace held.
Takes any number of images up to the problem's batch; writes all of ``out``."""


class Strategy(ABC):
    """One way to compute an operation: a rung of the operation's ladder.

    A rung is one module ``strategies/<operation>/<name>.py`` with an instance
    called ``STRATEGY``.  Problems are annotated ``Any`` here because each
    operation's strategies take that operation's problem class.
    """

    operation: ClassVar[str]
    name: ClassVar[str]
    order: ClassVar[int]
    """Place on the ladder, from the textbook's first kernel upwards."""
    summary: ClassVar[str]
    """What this rung changes, in one line."""
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    precision: ClassVar[Precision] = "ieee"
    transforms: ClassVar[bool] = False
    """Whether it needs fewer FLOPs than the direct method, so that their floor is not its own."""

    @abstractmethod
    def why_not(self, problem: Any) -> str | None:
        """Why this strategy does not take the problem; None when it does."""

    @abstractmethod
    def bind(self, problem: Any, *parameters: Float32, threads: int | None = None) -> Bound:
        """Compile for the problem, pack the parameters, hold the workspace.

        ``parameters`` are C-contiguous float32 in the shapes of
        ``problem.parameter_shapes``; they are read now, not later.
        """

    def check(self, problem: Any) -> None:
        """Raise `UnsupportedProblem` when the strategy does not take the problem."""
        reason = self.why_not(problem)
        if reason is not None:
            raise UnsupportedProblem(self.name, reason, "strategy=None (the best that does)")


@cache
def ladder(operation: str, kind: str = "cpu") -> tuple[Strategy, ...]:
    """Every strategy of an operation for a kind of device, in rising order.

    The CPU's are the modules of ``strategies/<operation>``, those of both GPU kinds the
    modules of ``strategies/<operation>/gpu``.  Raises `InputError`.
    """
    name = f"rooftile.strategies.{operation}" + ("" if kind == "cpu" else ".gpu")
    try:
        package = importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError("operation", repr(operation), f"one with strategies on {kind}") from None
    modules = (
        importlib.import_module(f"{name}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if not info.ispkg and not info.name.startswith("_")
    )
    rungs = [module.STRATEGY for module in modules]
    return tuple(sorted((r for r in rungs if kind in r.devices), key=lambda rung: rung.order))


def strategy(operation: str, name: str, kind: str = "cpu") -> Strategy:
    """The strategy of an operation by name.  Raises `InputError`."""
    rungs = {rung.name: rung for rung in ladder(operation, kind)}
    if name not in rungs:
        raise InputError("strategy", repr(name), f"one of {list(rungs)}")
    return rungs[name]
