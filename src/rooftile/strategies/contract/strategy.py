"""What a strategy is, and how the strategies of an operation are found."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, ClassVar, final

from rooftile.errors import InputError, UnsupportedProblem, did_you_mean, unknown
from rooftile.ops import ERROR_MODELS, AnyArray, ErrorModel, Precision
from rooftile.ops.features import taken
from rooftile.ops.registry import package_of
from rooftile.strategies.binding.bound import Bound, Config
from rooftile.strategies.contract.costs import Costs, Speeds, Work
from rooftile.strategies.contract.renamed import current


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
    """What this rung changes, in one line."""
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    """Kinds of device that it runs on."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """The features of problems that it takes, as ``{"stride", "activation:*"}``; others are
    refused.  See `rooftile.ops.features`."""
    requires: ClassVar[frozenset[str]] = frozenset()
    """Features without which it refuses a problem, as ``{"returns"}``."""
    precision: Precision = "ieee"
    transforms: ClassVar[bool] = False
    """Whether it needs fewer FLOPs than the direct method, so that their floor is not its own."""
    tunables: ClassVar[tuple[Tunable, ...]] = ()
    atomic: ClassVar[bool] = False
    """Whether atomics make the order of sums, and so the last bits, differ between runs."""
    apart: ClassVar[str] = ""
    """What of the fused block runs as a kernel of its own; empty when nothing does."""
    parallel: ClassVar[bool] = True
    """Whether the cores of a CPU share its work."""
    kernels: ClassVar[bool] = False
    """Whether it is made of CPU kernels, which can be chained with those of other strategies."""

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
        """Whether it takes one of the features of a problem."""
        return taken(feature, self.takes)

    def limits(self, problem: Any) -> str | None:
        """Why the sizes of a problem are beyond this strategy; None when it takes them. It is asked
        only where the strategy takes all features of the problem."""
        return None

    def estimate(self, problem: Any, machine: Speeds) -> float | None:
        """About how many seconds a call takes on a machine; None where nobody fitted its costs
        to problems of the kind, or of the size.

        The fitted costs are COSTS of the operation's module ``ladder``, for each case of a problem
        that they were fitted to (`rooftile.ops.Problem.case`).
        """
        costs = costs_of(self, problem.case)
        if costs is None or problem.bytes > costs.most_bytes:
            return None
        return self.seconds(problem, machine, costs)

    def seconds(self, problem: Any, machine: Speeds, costs: Costs) -> float:
        """What a call takes on a machine where the rung has these costs."""
        return costs.seconds(
            self.work(problem),
            machine,
            precision=self.precision,
            threads=self.workers(problem, machine),
            starts=self.starts(problem),
        )

    def starts(self, problem: Any) -> int:
        """How often a call waits until the machine's other threads, or kernels, have started."""
        return 1

    def work(self, problem: Any) -> Work:
        """What its costs count: the problem's FLOPs and bytes, and the rung's units."""
        return Work(problem.flops, problem.bytes, self.units(problem) or 1)

    def workers(self, problem: Any, machine: Speeds) -> int:
        """How many of a machine's cores share its work."""
        if not self.parallel:
            return 1
        units = self.units(problem)
        return machine.cores if units is None else min(units, machine.cores)

    def why_slow(self, problem: Any) -> str | None:
        """Why others are known to be faster for a problem that it takes; None when it pays."""
        return None

    def why_slow_once(self, problem: Any) -> str | None:
        """The same of a single call, in which packing the parameters counts; asked where
        `why_slow` knows no reason."""
        return None

    @property
    def anywhere(self) -> bool:
        """Whether every device of its kinds runs it, so that none need be asked."""
        return True

    def why_not_on(self, architecture: str | None) -> str | None:
        """Why its kernels do not run on devices of an architecture; None when they do.
        ``architecture`` None: there is no device to tell."""
        return None

    def fingerprint(self, problem: Any, config: Config) -> str:
        """What its kernels depend on, as text: the same one means the same program."""
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
        """How large an error its precision admits."""
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

    def check(self, problem: Any) -> None:
        """Raise `UnsupportedProblem` when the strategy does not take the problem."""
        reason = self.why_not(problem)
        if reason is not None:
            raise UnsupportedProblem(self.name, reason, "strategy=None (the best that does)")


@cache
def ladder(operation: str, kind: str = "cpu") -> tuple[Strategy, ...]:
    """Every strategy of an operation for a kind of device, in the order in which to meet them.

    LADDER of the operation's module ``ladder`` has their names, for the CPU and for both kinds of
    GPU.  A module of the folder ``cpu`` or ``gpu`` of the operation's package, or of a folder of
    theirs, brings one as ``STRATEGY`` or several as ``STRATEGIES``; modules whose names begin with
    an underscore bring none.  Raises `InputError` for an operation without strategies on the kind,
    and `TypeError` where LADDER does not name them all.
    """
    where = "cpu" if kind == "cpu" else "gpu"
    try:
        package = importlib.import_module(f"{package_of(operation)}.{where}")
    except ModuleNotFoundError:
        raise InputError("operation", repr(operation), f"one with strategies on {kind}") from None
    rungs = {rung.name: rung for rung in _strategies_in(package)}
    names = _table(operation, "LADDER").get(where, ())
    if differing := sorted(rungs.keys() ^ set(names)):
        raise TypeError(f"LADDER of {operation} and its modules on {where} differ in {differing}")
    return tuple(rungs[name] for name in names if kind in rungs[name].devices)


def _strategies_in(package: ModuleType) -> Iterator[Strategy]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.name.rpartition(".")[2].startswith("_"):
            module = importlib.import_module(info.name)
            yield from getattr(module, "STRATEGIES", ())
            if hasattr(module, "STRATEGY"):
                yield module.STRATEGY


@cache
def _table(operation: str, name: str) -> Mapping[str, tuple[str, ...]]:
    """A table of the operation's module ``ladder``: empty where there is none."""
    module = f"{package_of(operation)}.ladder"
    if importlib.util.find_spec(module) is None:
        return {}
    found: Mapping[str, tuple[str, ...]] = getattr(importlib.import_module(module), name, {})
    return found


def costs_of(rung: Strategy, case: str) -> Costs | None:
    """The costs of a rung that were fitted to a case of its operation's problems; None without."""
    where = "cpu" if "cpu" in rung.devices else "gpu"
    table: Any = _table(rung.operation, "COSTS").get(where, {})
    found: Costs | None = table.get(rung.name, {}).get(case)
    return found


@cache
def preference(operation: str, kind: str) -> tuple[Strategy, ...]:
    """The strategies that are picked without being named, the fastest first.

    PREFERENCE of the operation's module ``ladder`` has their names; without it all are picked, the
    last of LADDER first.  Raises `InputError`.
    """
    rungs = {rung.name: rung for rung in ladder(operation, kind)}
    where = "cpu" if kind == "cpu" else "gpu"
    names = _table(operation, "PREFERENCE").get(where)
    if names is None:
        names = () if _table(operation, "PREFERENCE") else tuple(reversed(rungs))
    return tuple(rungs[name] for name in names if name in rungs)


def strategy(operation: str, name: str, kind: str = "cpu") -> Strategy:
    """The strategy of an operation by name, also by one of `RENAMED`.  Raises `InputError`."""
    rungs = {rung.name: rung for rung in ladder(operation, kind)}
    if current(name) not in rungs:
        raise unknown("strategy", name, rungs)
    return rungs[current(name)]
