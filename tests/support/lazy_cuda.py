"""A CUDA device that runs what it is given late, in any order that streams and events allow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rooftile.nn import streaming
from rooftile.ops.layers.most_likely import MostLikely
from rooftile.runtime.calls.single import single

OWN = "own"


@dataclass(eq=False)
class Op:
    """Something handed over; what it waits for comes before it."""

    what: str
    stream: str
    work: Callable[[], object]
    seconds: float
    waits: list[Op]
    device: Device | None = None
    done: bool = False
    end: float = 0.0

    def sync(self) -> None:
        """The host waits for it."""
        assert self.device is not None
        self.device.run([self])


@dataclass
class Device:
    """``log`` holds every operation; ``cost`` tells how many seconds one takes."""

    rng: np.random.Generator
    cost: Callable[[str, int], float] = lambda what, size: 0.0
    log: list[Op] = field(default_factory=list)
    waits_of_the_host: int = 0

    def __post_init__(self) -> None:
        self.description = SimpleNamespace(kind="cuda")
        self.streams: dict[str, Stream] = {}
        self.own = self.stream(OWN)
        self.recorded: list[Callable[[], object]] | None = None

    def stream(self, name: str = "") -> Stream:
        name = name or f"stream {len(self.streams)}"
        self.streams[name] = Stream(self, name)
        return self.streams[name]

    @contextlib.contextmanager
    def on(self):
        yield

    def allocate(self, nbytes: int) -> Any:
        return np.full(nbytes, 0xA5, np.uint8)

    def upload(self, array: Any) -> Any:
        return array.copy().view(np.uint8)

    def pinned(self, count: int) -> Any:
        return np.full(count, np.nan, np.float32)

    def launches(self, calls: Any, names: tuple[str, ...]) -> Any:
        """What starts `labels_of`."""
        return SimpleNamespace(start=lambda given: [self.start(call) for call in calls])

    def start(self, work: Callable[[], object]) -> None:
        """A kernel of the own stream, or of the graph that is recorded."""
        if self.recorded is not None:
            self.recorded.append(work)
        else:
            self.own.add("kernel", work)

    def captured(self, work: Callable[[], object]) -> Callable[[], object]:
        self.recorded = []
        work()
        kernels, self.recorded = self.recorded, None
        return lambda: self.own.add("graph", lambda: [kernel() for kernel in kernels])

    def mark(self) -> Op:
        return self.own.mark()

    def after(self, mark: Op) -> None:
        self.own.after(mark)

    def event(self) -> Event:
        return Event()

    @property
    def stream_address(self) -> Stream:
        return self.own

    def between(self, before: Op, after: Op) -> float:
        return 1e3 * (after.end - before.end)

    def synchronise(self) -> None:
        self.run(self.log)

    def run(self, wanted: list[Op]) -> None:
        """Run these and what they wait for, and as it happens some others."""
        self.waits_of_the_host += 1
        missing = {id(op): op for op in wanted if not op.done}
        while missing:
            ready = [op for op in self.log if not op.done and all(w.done for w in op.waits)]
            op = ready[int(self.rng.integers(len(ready)))]
            op.work()
            op.done = True
            missing.pop(id(op), None)


class Stream:
    def __init__(self, device: Device, name: str) -> None:
        self.device, self.name = device, name
        self.last: list[Op] = []

    @property
    def address(self) -> Stream:
        return self

    def add(self, what: str, work: Callable[[], object] = lambda: None, size: int = 0) -> Op:
        seconds = self.device.cost(what, size)
        op = Op(what, self.name, work, seconds, self.last, self.device)
        op.end = seconds + max((before.end for before in self.last), default=0.0)
        self.device.log.append(op)
        self.last = [op]
        return op

    def copy_in(self, array: Any, buffer: Any, first: int = 0) -> None:
        def work() -> None:
            buffer[first : first + array.nbytes] = array.reshape(-1).view(np.uint8)

        self.add("copy in", work, array.nbytes)

    def copy_out(self, buffer: Any, array: Any) -> None:
        def work() -> None:
            array.reshape(-1).view(np.uint8)[:] = buffer[: array.nbytes]

        self.add("copy out", work, array.nbytes)

    def mark(self) -> Op:
        return self.add("mark")

    def after(self, mark: Op) -> None:
        self.last = [*self.last, mark]

    def synchronise(self) -> None:
        self.device.run(self.last)


class Event:
    """A point that moves; a stream stands for its address."""

    def record(self, stream: Stream) -> None:
        self._mark = stream.mark()

    def delay(self, stream: Stream) -> None:
        stream.after(self._mark)

    def sync(self) -> None:
        self._mark.sync()


def labels_of(device: Any, problem: MostLikely, scores: Any, labels: Any) -> Any:
    """What stands for the launch of `most_likely` on a lazy device."""
    if not isinstance(device, Device):
        return single(device, problem, scores, labels)

    def found() -> None:
        rows = scores.view(np.float32).reshape(-1, problem.classes)[: problem.images]
        labels.view(np.int64)[: problem.images] = problem.reference(rows)

    return found


@pytest.fixture(autouse=True, scope="module")
def lazily():
    """Labels are found by a lazy device's kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "single", labels_of)
        yield
