"""The base class of strategies, and the choice of the fastest by their estimates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

from rooftile.errors import InputError, UnsupportedProblem, did_you_mean
from rooftile.ops import ACTIVATIONS, ERROR_MODELS, AnyArray, ErrorModel, Precision, admits
from rooftile.ops.features import taken
from rooftile.strategies.binding.bound import Bound, Config
from rooftile.strategies.contract.costs import Costs, Speeds, Work, terms

LESS = 0.95
"""An estimate is less than another where it is at most this share of it."""


@dataclass(frozen=True)
class Tunable:
    """A launch or tile parameter with its candidate values."""

    name: str
    values: tuple[int, ...]
    default: int


class Strategy(ABC):
    """One way to compute an operation: a rung of the operation's ladder.

    A rung is an instance called ``STRATEGY``, or one of ``STRATEGIES``, of a module in the folder
    ``cpu`` or ``gpu`` of its operation.  Problems are annotated ``Any`` here because each
    operation's strategies take that operation's problem class.
    """

    operation: ClassVar[str]
    name: str
    summary: str
    """The rung's change, in one line."""
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    """Kinds of device that it runs on."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """The features of problems that it takes, as ``{"stride", "activation:*"}``; others are
    refused.  See `rooftile.ops.features`."""
    requires: ClassVar[frozenset[str]] = frozenset()
    """Features without which it refuses a problem, as ``{"returns"}``."""
    precision: Precision = "ieee"
    architectures: ClassVar[tuple[str, ...]] = ()
    """The only GPUs whose instructions its text uses, as ``sm_90``; empty where any will do."""
    least_architecture: ClassVar[int] = 0
    """The first GPUs that have its instructions, as 80 for ``sm_80``."""
    costs: Mapping[str, Costs] = {}
    """What was fitted to measurements, for each case of a problem (`rooftile.ops.Problem.case`)
    and, by an empty name, for others: from ``costs.json`` of the operation's folder, see
    `rooftile.strategies.ladder`."""
    alike: str = ""
    """A rung of the operation whose costs it has where it has none of its own."""
    margin: ClassVar[float] = 1.0
    """How many times as fast as another it must be estimated to be before it is picked."""
    transforms: ClassVar[bool] = False
    """True if it needs fewer FLOPs than the direct method, so that the direct method's floor is not
    its own."""
    tunables: ClassVar[tuple[Tunable, ...]] = ()
    atomic: ClassVar[bool] = False
    """True if atomics make the order of sums, and so the last bits, differ between runs."""
    apart: ClassVar[str] = ""
    """The part of the fused block that runs as a kernel of its own; empty when none does."""
    parallel: bool = True
    """True if the cores of a CPU share its work."""
    kernels: ClassVar[bool] = False
    """True if it is made of CPU kernels, which can be chained with other strategies' kernels."""

    def __init_subclass__(cls) -> None:
        if "why_not" in vars(cls):
            raise TypeError(f"{cls.__qualname__} defines why_not, which is final: define limits")

    @final
    def why_not(self, problem: Any) -> str | None:
        """Why this strategy does not take the problem; None when it does. A feature of the problem
        that `takes` does not name is refused, then `limits` is asked."""
        described = problem.described_features()
        for feature, words in described.items():
            if not self.takes_feature(feature, described):
                return f"it is not written for {words}"
        for feature in sorted(self.requires - described.keys()):
            return f"it is written for problems with {feature} alone"
        return self.limits(problem)

    def takes_feature(self, feature: str, features: Collection[str]) -> bool:
        """True if it takes one of the features of a problem."""
        return taken(feature, self.takes)

    def limits(self, problem: Any) -> str | None:
        """Why the sizes of a problem are beyond this strategy; None when it takes them. It is asked
        only where the strategy takes all features of the problem."""
        return None

    def estimate(self, problem: Any, machine: Speeds, *, once: bool = False) -> float | None:
        """About how many seconds a call takes on a machine; None where nobody fitted its costs.

        ``once``: the parameters are packed for this call, which counts where that takes long.
        """
        costs = self.costs.get(problem.case) or self.costs.get("")
        return None if costs is None else costs.seconds(self.terms(problem, machine))

    def pays(self, problem: Any) -> bool:
        """True if a problem of several operations takes no longer than the operations one after the
        other, as measured: where it is False, they are computed so."""
        return True

    def terms(self, problem: Any, machine: Speeds) -> Costs:
        """The seconds for which each of its costs counts once."""
        work, threads = self.work(problem), self.workers(problem, machine)
        starts, precision = self.starts(problem), self.precision
        return terms(work, machine, precision=precision, threads=threads, starts=starts)

    def starts(self, problem: Any) -> int:
        """Number of times that a call waits until the machine's other threads, or kernels, have
        started."""
        return 1

    def work(self, problem: Any) -> Work:
        """The quantities of its costs: the problem's FLOPs and bytes, the rung's units, and as
        steps the elements that an activation other than a comparison is computed of."""
        activation = getattr(problem, "activation", "none")
        compares = activation == "none" or ACTIVATIONS[activation].selects
        steps = 0 if compares else problem.output_arrays[0].size
        return Work(problem.flops, problem.bytes, self.units(problem) or 1, steps)

    def workers(self, problem: Any, machine: Speeds) -> int:
        """Number of a machine's cores that share its work."""
        if not self.parallel:
            return 1
        units = self.units(problem)
        return machine.cores if units is None else min(units, machine.cores)

    @property
    def anywhere(self) -> bool:
        """True if every device of its kinds runs it, so that none need be asked."""
        return not (self.architectures or self.least_architecture)

    def why_not_on(self, architecture: str | None) -> str | None:
        """Why its kernels do not run on devices of an architecture; None when they do.
        ``architecture`` None: there is no device to tell."""
        only, least = " and ".join(self.architectures), self.least_architecture
        if architecture is None:
            return f"it is for {only}, and no GPU is there" if only else None
        if only and architecture not in self.architectures:
            return f"it uses instructions of {only} alone, not {architecture}"
        if least and int(architecture.removeprefix("sm_")) < least:
            return f"it uses instructions of sm_{least} and later, not {architecture}"
        return None

    def why_refused(self, problem: Any, precision: str, config: Config | None = None) -> str | None:
        """Why it does not compute the problem at a precision; None when it does.

        Where the problem's default config is beyond the device, another ``config`` may be within.
        """
        if not admits(precision, self.precision):
            return f"its precision is {self.precision!r}, asked was {precision!r}"
        reason = self.why_not(problem)
        return self._given(config).why_not(problem) if reason and config else reason

    def _given(self, config: Config) -> Self:
        """The strategy with values of tunables as every problem's default, which `limits` asks
        for."""
        own, placed = self.defaults, copy(self)
        vars(placed)["defaults"] = lambda problem: {**own(problem), **config}
        return placed

    def why_passed_over(
        self, problem: Any, precision: str, architecture: Callable[[], str | None]
    ) -> str | None:
        """Why it is no candidate for the problem unless it is named; None when it is one.

        ``architecture`` gives what `why_not_on` takes.  It is called last, and only for a strategy
        that not every device runs, because it may open the device.
        """
        reason = self.why_refused(problem, precision)
        return reason if reason or self.anywhere else self.why_not_on(architecture())

    def fingerprint(self, problem: Any, config: Config) -> str:
        """The text that its kernels depend on: the same text means the same program."""
        return f"{self.operation} {self.name} {sorted(config.items())}"

    def config(self, problem: Any, given: Config | None = None) -> dict[str, int]:
        """Every tunable's value: the problem's default, or the given one.  Raises `InputError`."""
        names = [tunable.name for tunable in self.tunables]
        unknown = sorted(set(given or {}) - {*names})
        if unknown:
            raise InputError(
                "config", unknown, f"tunables among {names}{did_you_mean(unknown[0], names)}"
            )
        return {**self.defaults(problem), **(given or {})}

    def defaults(self, problem: Any) -> dict[str, int]:
        """The config for a problem where none is given."""
        return {tunable.name: tunable.default for tunable in self.tunables}

    def invalid(self, problem: Any, config: Config) -> str | None:
        """Why the strategy cannot run the problem with this config; None when it can."""
        return None

    @property
    def errors(self) -> ErrorModel:
        """The error that its precision admits."""
        return ERROR_MODELS[self.precision]

    @abstractmethod
    def bind(
        self,
        problem: Any,
        parameters: Sequence[AnyArray],
        device: Any,
        config: Config | None = None,
    ) -> Bound:
        """Compile for the problem, pack the parameters, hold the workspace.

        ``parameters`` are C-contiguous arrays in the order of the problem's; they are read now,
        not later.  ``config`` sets tunables.  Raises `UnsupportedProblem`, `InputError` for a
        config that cannot run, `CompileFailure`, `OutOfMemory`.
        """

    def units(self, problem: Any) -> int | None:
        """Pieces of independent work that the cores of a CPU share out; None where a library does
        it its own way."""
        return None

    def check(
        self, problem: Any, precision: str | None = None, config: Config | None = None
    ) -> None:
        """Raise `UnsupportedProblem` when the strategy does not take the problem, or not at the
        precision."""
        reason = self.why_refused(problem, precision or self.precision, config)
        if reason is not None:
            fits = admits(precision or self.precision, self.precision)
            own = f"precision={self.precision!r}"
            best = "strategy=None (the best that does)"
            raise UnsupportedProblem(self.name, reason, best if fits else own)


def fastest(
    rungs: Sequence[Strategy], problem: Any, machine: Callable[[], Speeds], *, once: bool = False
) -> Strategy:
    """The strategy of the least estimate on a machine, of a single call where it is for ``once``.

    The order of preference decides where estimates are about equal, and where there are none; one
    without an estimate is passed over where others have some.
    """
    best, least = rungs[0], math.inf
    # The machine is asked for its speeds only where there is something to estimate.
    if len(rungs) == 1 or not any(rung.costs for rung in rungs):
        return best
    for rung in rungs:
        seconds = rung.estimate(problem, machine(), once=once)
        if seconds is not None and seconds * rung.margin < LESS * least:
            best, least = rung, seconds * rung.margin
    return best
