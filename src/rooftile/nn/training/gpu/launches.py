"""The fixed list of launches that a step is made of."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.gpu import GpuDevice
from rooftile.devices.launches import Call
from rooftile.errors import UnsupportedProblem
from rooftile.ops import Precision, Problem
from rooftile.runtime.selection.choice import decide
from rooftile.runtime.selection.costs import speeds_of
from rooftile.strategies import preference
from rooftile.strategies.binding.executable import Executable
from rooftile.strategies.binding.packing import Packing
from rooftile.strategies.contract.gpu import Config, GpuStrategy, of_launches
from rooftile.strategies.contract.machine import Multiprocessors

T = TypeVar("T")
Bound = tuple[str, Callable[[], None], Callable[[], None] | None, int]
"""A launch's name, what starts it, what packs its parameters before, and the bytes it moves."""
_SPENT = 2.0
"""Times that an operation may take longer for arrays that others read sooner."""
_LINES = 2
"""Of launches aside: what is on one of them does not wait for the other."""
Order = Literal["beside", "later", "in a row"]
"""See `BoundLaunches.start`."""


class Start(NamedTuple):
    """One of a step's launches, or an operation's."""

    name: str
    """An operation and its strategy, or a kernel."""
    start: Callable[[], None]
    phase: str
    layer: str
    aside: bool
    """True if later launches do not wait for it, up to the next one that joins."""
    joins: bool
    """True if it waits for the concurrent launches."""
    packed: int | None = None
    """The number of what packs its parameters, which it waits for."""
    line: int = 0
    """Of what is aside: it waits for those before it of the same line."""
    problem: Problem | None = None
    """The problem that it computes, of an operation."""
    bytes: int = 0
    """And its compulsory traffic, see `Compiled.bytes`."""


class BoundLaunches:
    """Launches in a row on buffers that stay, and the memory that they work in.

    Kernels are compiled by several threads while the row is written; `starts` waits for them.
    Parameters are packed aside from the row's beginning on: nothing changes them before it joins.
    """

    def __init__(self, gpu: GpuDevice, precision: Precision = "ieee") -> None:
        self.gpu, self.precision = gpu, precision
        self.phase, self.layer = "", ""
        """The phase and layer of the launches that are appended next."""
        self._aside, self._line, self._joins = False, 0, False
        self._branches = [gpu.branch() for _ in range(_LINES)]
        self._held: list[Any] = []
        self._shared = defaultdict[int, list[tuple[int, Any]]](list)
        self._packings: list[Start] = []
        self._starts: list[Start] = []
        self._promised: list[Callable[[], None]] = []

    @property
    def starts(self) -> list[Start]:
        """All launches, once their kernels are compiled, see `compile`."""
        self.compile()
        return [*self._packings, *self._starts]

    def compile(self) -> None:
        """Wait for the compilers. Raises `UnsupportedProblem`, `CompileFailure`, `OutOfMemory`."""
        while self._promised:
            self._promised[0]()
            self._promised.pop(0)

    @contextlib.contextmanager
    def aside(self, really: bool = True, line: int = 0) -> Iterator[None]:
        """Launches appended inside follow all earlier ones but concurrent ones on other lines;
        later launches do not wait for them before `join`. Not ``really``: they are appended as any
        other."""
        self._aside, self._line = really, line
        yield
        self._aside = False

    def join(self) -> None:
        """Let later launches wait for all concurrent ones."""
        self._joins = True

    @property
    def orders(self) -> tuple[Order, ...]:
        """The ways to start it that may differ in time, see `start`."""
        self.compile()
        several = self._branches[0].concurrent and any(one.aside for one in self._starts)
        return ("beside", "later", "in a row") if several else ("beside",)

    def start(self, order: Order = "beside") -> None:
        """Start everything on the present stream. Concurrent launches begin with the launches of
        their own layer that follow them; ``later``, with the next layer's; or ``in a row``, alone:
        large launches evict each other's caches. The results are the same."""
        if order == "in a row":
            for one in self.starts:
                one.start()
            return
        self.compile()
        for number, packing in enumerate(self._packings):
            self._start(packing)
            self._branches[0].mark(number)
        for one in self._starts if order == "beside" else _later(self._starts):
            self._start(one)
        for branch in self._branches:
            branch.join()

    def _start(self, one: Start) -> None:
        if one.joins:
            for branch in self._branches:
                branch.join()
        if one.packed is not None:
            self._branches[0].wait(one.packed)
        with self._branches[one.line].aside() if one.aside else contextlib.nullcontext():
            one.start()

    def floats(self, count: int) -> Any:
        """Zeroed memory for ``count`` float32 or int32."""
        memory = self.gpu.upload(np.zeros(count, np.float32))
        self._held.append(memory)
        return memory

    def _allocate(self, count: int) -> Any:
        """Persistent memory for ``count`` float32, which are written before they are read."""
        return self.gpu.allocate(4 * count)

    def run(
        self,
        problem: Problem,
        *arrays: Any,
        parameters: Sequence[Any] = (),
    ) -> None:
        """Append an operation: buffers of its inputs and outputs, and of its parameters."""
        rung, config = self.chosen(problem)
        shared = self._shared[self._line + 1 if self._aside else 0]

        def made() -> Executable:
            compiled = rung.compile(problem, self.gpu, config)
            return Executable(Packing(compiled), memory=self._allocate)

        def bound(made: Executable) -> Bound:
            packing = made.packing(parameters)
            execution = made.execution(None)
            self._held.append(made)
            workspace = [*self._workspace(shared, execution.workspace.sizes.values())]
            name = f"{problem.operation} {rung.name}"
            return name, partial(execution.start, arrays, workspace), packing, made.compiled.bytes

        self._append(made, bound, problem)

    def chosen(self, problem: Problem) -> tuple[GpuStrategy, Config]:
        """The strategy of an operation; where nothing was tuned for its arrays as they are stored,
        with the config for the plain problem."""
        choice, plain = (
            decide(one, self.precision, self.gpu.description.device)
            for one in (problem, problem.plain)
        )
        config = choice.config
        if config is None and plain.strategy is choice.strategy:
            config = plain.config
        return of_launches(choice.strategy), config or {}

    def pays(self, problem: Problem) -> bool:
        """True if an operation's strategy has no known faster way."""
        try:
            return self.chosen(problem)[0].pays(problem)
        except UnsupportedProblem:
            return False

    def stores(self, problem: Problem) -> bool:
        """True if an operation may have its arrays stored so: its strategy then is the plain
        problem's, is preferred to it, or is estimated to take no more than `_SPENT` times as long,
        since every operation that reads the arrays gains. (Costs are fitted to float32.)"""
        device = self.gpu.description.device
        try:
            rung, config = self.chosen(problem)
        except UnsupportedProblem:
            return False
        plain = decide(problem.plain, self.precision, device).strategy
        if rung is not plain:
            row = [one.name for one in preference(problem.operation, self.gpu.description.kind)]
            speeds = speeds_of(device)
            seconds = rung.estimate(problem, speeds), plain.estimate(problem.plain, speeds)
            faster = None not in seconds and seconds[0] <= _SPENT * seconds[1]  # type: ignore[operator]
            if row.index(rung.name) > row.index(plain.name) and not faster:
                return False
        placed = rung.on(Multiprocessors.of(self.gpu.description))
        return placed.runs(problem, config)

    def call(self, make: Callable[..., Call], *arguments: Any) -> None:
        """Append the launch that a function makes, whose arguments are buffers and numbers."""

        def bound(call: Call) -> Bound:
            launches = self.gpu.launches([call], ())
            self._held.append(call)
            return call.launch.kernel, partial(launches.start, ()), None, 0

        self._append(partial(make, *arguments), bound)

    def _append(
        self, make: Callable[[], T], bound: Callable[[T], Bound], problem: Problem | None = None
    ) -> None:
        """``make`` compiles, in another thread; ``bound`` says what came of it."""
        compiled = compiling(self.gpu, make)
        phase, layer, aside, joins = self.phase, self.layer, self._aside, self._joins
        line = self._line
        self._joins = False

        def kept() -> None:
            name, start, packing, moved = bound(compiled.result())
            packed = None
            if packing is not None:
                packed, of = len(self._packings), f"{name}: weights"
                self._packings.append(Start(of, packing, phase, layer, aside=True, joins=False))
            told = phase, layer, aside, joins, packed, line, problem, moved
            self._starts.append(Start(name, start, *told))

        self._promised.append(kept)

    def _workspace(self, shared: list[tuple[int, Any]], sizes: Iterable[int]) -> Iterator[Any]:
        """Memory for arrays of these bytes, which operations that follow each other share."""
        for number, nbytes in enumerate(sizes):
            if number == len(shared) or shared[number][0] < nbytes:
                shared[number : number + 1] = [(nbytes, self.floats(nbytes // 4))]
            yield shared[number][1]


def _later(starts: Sequence[Start]) -> list[Start]:
    """Starts with the concurrent launches moved after the launches of their own layer."""
    row, waiting = list[Start](), list[Start]()
    for one in starts:
        if one.aside:
            waiting.append(one)
            continue
        if waiting and (one.joins or one.layer != waiting[0].layer):
            row += waiting
            waiting.clear()
        row.append(one)
    assert not waiting, "what is aside is joined"
    return row


def compiling(gpu: GpuDevice, make: Callable[[], T]) -> Future[T]:
    """The result of ``make`` on a device, in a thread of its own: compilers release the GIL."""

    def there() -> T:
        with gpu.on():
            return make()

    return _threads().submit(there)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cpu.cores(), "compile")
