"""A process under audit with a problem's arrays laid out for it: write, run, look.

Every run first poisons the outputs.  After the answer it looks at outputs, guards and inputs
while the process is frozen in the state in which it answered.
"""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.select import open_gpu
from rooftile.errors import InputError
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.poison import bits, poison
from rooftile.lab.audit.process.arena import Arena, CudaArena, HostArena, Slot, guard_of, layout
from rooftile.lab.audit.process.channel import Answer
from rooftile.lab.audit.process.child import Child, Complained, memory_limit
from rooftile.lab.audit.process.surroundings import hidden_from, opencl_place
from rooftile.lab.judge.exam import as_bytes
from rooftile.lab.measure.records import plain
from rooftile.ops import AnyArray, Problem

_KEPT = 6
"""Number of results that are remembered, to recognise them when they come again."""
_MOST_PLAIN = 2**16
"""Elements of the largest output that is poisoned with ordinary numbers: of more of them, some
equal their results by chance."""
_GRACE_S = 0.3
"""Seconds that the process may run on after its answer, in which late work shows."""
_DELAY = """extern "C" __global__ void delay(unsigned long long nanoseconds)
{
    unsigned long long first, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(first));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - first < nanoseconds);
}
"""

_MOST_SLOTS, _SLOT_BYTES = 32, 256 * 2**20
"""Largest number of sets of arrays, and their approximate bytes in all."""

Arrays = tuple[AnyArray, ...]
"""Inputs and parameters; or outputs."""


def slots_for(problem: Problem) -> int:
    """Largest number of sets of arrays of a problem."""
    return max(1, min(_MOST_SLOTS, _SLOT_BYTES // max(1, problem.bytes)))


class OutOfTime(Exception):
    """The judge's own work took all of its time."""


@dataclass(frozen=True)
class Seen:
    """A result as it lay there when the process had answered."""

    outs: Arrays
    left: tuple[NDArray[np.bool_], ...]
    """True for elements of each output that hold their poison."""
    intact: bool
    """True if the guards around the outputs are untouched."""
    altered: tuple[str, ...]
    """Inputs that are not as they were written."""


@dataclass(frozen=True)
class Earlier:
    """A result that was seen before, for other inputs."""

    outs: Arrays
    right: bool


@dataclass(frozen=True)
class Run:
    """The result of a request."""

    wall_s: float
    """From thawing the process to its answer, by the judge's clock."""
    told: Answer
    """The process's answer; not to be believed."""
    others: int
    """Number of other processes that it had at its answer."""
    slots: tuple[int, ...]
    """The slots that were run, in this order."""
    seen: tuple[Seen, ...]
    """The content of each of them."""


@dataclass
class Session:
    """A foreign kernel in its process.  Use as a context manager."""

    kernel: Foreign
    arena_bytes: int
    limit_s: float
    problem: Problem | None = None
    slots: list[Slot] = field(default_factory=list)
    earlier: list[Earlier] = field(default_factory=list)
    """Results of this problem, right or wrong."""

    def __enter__(self) -> Session:
        self.arena, extra = self._share()
        self.guard = guard_of(self.kernel.memory)
        self.child = Child(
            self._script,
            self.arena.fd,
            memory_limit() if self.on_host else 0,
            self.limit_s,
            self._hidden(),
            self.kernel.kind == "cuda",
        )
        self._load = {
            "do": "load",
            "file": str(self.kernel.path),
            "function": self.kernel.function,
            "arrays": self.kernel.arrays,
            "device": self.kernel.device,
            **extra,
        }
        self._written: dict[int, Arrays] = {}
        self._poison: dict[int, list[NDArray[np.uint8]]] = {}
        self._generator = np.random.default_rng()
        self._began_s, self._laid = time.process_time(), False
        return self

    @cached_property
    def on_host(self) -> bool:
        """Whether it runs on the processor, as any program of the host: a text may do so too.  Then
        the judge's clock times it, else, for a text, the device's clock."""
        kernel = self.kernel
        return kernel.kind == "cpu" or (
            kernel.kind == "opencl" and not open_gpu(kernel.device).description.gpu
        )

    @property
    def device_clock(self) -> bool:
        """Whether times are those of the device's clock: no stranger's code is near it."""
        return self.kernel.text and not self.on_host

    @property
    def _script(self) -> str:
        if not self.kernel.text:
            return "trampoline.py"
        return "worker_opencl.py" if self.on_host else "worker_text.py"

    def _hidden(self) -> Sequence[Path] | None:
        """Files that its process must not see; None where no code of a stranger's runs in it."""
        return None if self.device_clock else hidden_from(self.kernel.path)

    def __exit__(self, *_: object) -> None:
        self.child.close()
        self.arena.close()

    def load(self) -> None:
        """Have the kernel's file read.  Raises `Died`, `Complained`."""
        self.arrays = self.child.ask(self._load)[0].text
        """Whose arrays it takes, by its process's own word."""

    def lay(self, problem: Problem, slots: int = 1, places: list[Slot] | None = None) -> None:
        """Make arrays for a problem, at new places, or at those where they lay before.

        Raises `Died`, `Complained`, `OutOfTime`.
        """
        self._check_time()
        self.problem, self.earlier, self._written, self._poison = problem, [], {}, {}
        self.slots, needed = layout(problem, slots, self.kernel.memory, self._generator)
        self.slots = places or self.slots
        assert needed <= self.arena_bytes, "the arena was sized for every problem"
        shapes = {array.name: array.shape for array in problem.output_arrays}
        told = self._ask_for_arrays(
            {
                "do": "arrays",
                "fields": plain(dataclasses.asdict(problem)),  # type: ignore[call-overload]
                "output_shape": next(iter(shapes.values())) if len(shapes) == 1 else shapes,
                "names": [array.name for array in problem.given_arrays],
                "outputs": list(shapes),
                "slots": [
                    {
                        "given": [place.told for place in slot.given],
                        "outs": [place.told for place in slot.outs],
                    }
                    for slot in self.slots
                ],
                "guard": self.guard,
                **self._launch(problem),
            }
        )
        self.resources = told.numbers

    def _ask_for_arrays(self, request: dict[str, Any]) -> Answer:
        """Only before the kernel was called once, a wrong use is its user's and no verdict."""
        laid, self._laid = self._laid, True
        try:
            return self.child.ask(request)[0]
        except Complained as error:
            if laid and error.kind == "usage" and not self.device_clock:
                raise Complained("raised", error.what) from None
            raise

    def _check_time(self) -> None:
        if time.process_time() - self._began_s > self.limit_s:
            raise OutOfTime

    @property
    def torn(self) -> bool:
        """Whether guards around outputs are not as they were written; to ask of a process that has
        ended."""
        if self.kernel.memory == "cuda":
            return False
        return not all(self.look(slot).intact for slot in self._poison)

    def _launch(self, problem: Problem) -> dict[str, Any]:
        """The launch of a text's kernel for a problem."""
        line = self.kernel.launch
        if line is None:
            return {}
        try:
            launch = line.launch(self.kernel.function, problem)
            return {
                "launch": dataclasses.asdict(launch),
                "macros": line.macros(problem),
                "args": line.arguments(problem),
            }
        except InputError as error:
            raise Complained("usage", str(error)) from None

    def fresh(self) -> Arrays:
        """Inputs that nobody knows: they come from the system's entropy."""
        assert self.problem is not None
        return self.problem.random(secrets.randbits(128))

    def write(self, slot: int, arrays: Arrays) -> None:
        """Put inputs into a slot."""
        self._written[slot] = arrays
        for place, values in zip(self.slots[slot].given, arrays, strict=True):
            self.arena.put(place.offset, values)

    def run(
        self,
        slots: Sequence[int] = (0,),
        look: bool = True,
        scrub: bool = False,
        meanwhile: Callable[[], None] | None = None,
        keep: bool = False,
        **options: Any,
    ) -> Run:
        """Call the kernel once for each of the slots, in this order.  Raises `Died`,
        `Complained`, `OutOfTime`.

        ``scrub`` leaves poison in the memory that the kernel's next allocations will get.
        ``meanwhile`` is called while the answer is awaited.  ``keep``: outputs are not poisoned.
        """
        self._check_time()
        for slot in () if keep else set(slots):
            self.poison(slot)
        if scrub and not self.kernel.text:
            self.child.ask({"do": "scrub"})
        try:
            start = self.child.begin({"do": "run", "slots": list(slots), **options})
            if meanwhile is not None:
                meanwhile()
            told, seconds = self.child.collect(start)
        except Complained as error:
            # It has been called by now, so whatever it says is a verdict on it.
            raise Complained(
                "raised" if error.kind == "usage" else error.kind, error.what
            ) from None
        seen = tuple(self.look(slot) for slot in slots) if look else ()
        return Run(seconds, told, self.child.others, tuple(slots), seen)

    def poison(self, slot: int) -> None:
        """Fill the outputs and their guards."""
        places, plain = self.slots[slot].outs, bool(self._generator.integers(2))
        self._poison[slot] = [
            poison(
                place.array, self.guard, self._generator, plain and place.array.size <= _MOST_PLAIN
            )
            for place in places
        ]
        for place, values in zip(places, self._poison[slot], strict=True):
            self.arena.put(place.offset - self.guard, values)

    def look(self, slot: int) -> Seen:
        """The present content of a slot."""
        outs, left, intact, guard = [], [], True, self.guard
        for place, poisoned in zip(self.slots[slot].outs, self._poison[slot], strict=True):
            array, inside = place.array, slice(guard, guard + place.array.nbytes)
            whole = self.arena.get(place.offset - guard, array.nbytes + 2 * guard)
            out, before = (
                flat[inside].view(array.numpy).reshape(array.shape) for flat in (whole, poisoned)
            )
            outs.append(out)
            left.append(np.asarray(bits(out) == bits(before)))
            for edge in (slice(0, guard), slice(guard + array.nbytes, None)):
                intact = intact and np.array_equal(whole[edge], poisoned[edge])
        return Seen(tuple(outs), tuple(left), intact, self._altered(slot))

    def _altered(self, slot: int) -> tuple[str, ...]:
        given = zip(self.slots[slot].given, self._written[slot], strict=True)
        return tuple(
            place.array.name
            for place, values in given
            if not np.array_equal(self.arena.get(place.offset, values.nbytes), as_bytes(values))
        )

    def remember(self, outs: Arrays, right: bool) -> None:
        """Keep a result, to recognise it when it comes again."""
        self.earlier = [*self.earlier[-_KEPT + 1 :], Earlier(outs, right)]

    def later(self, slot: int) -> Arrays:
        """A slot's outputs after the process has run on for a while unasked."""
        self.child.thaw()
        time.sleep(_GRACE_S)
        self.child.freeze()
        return self.look(slot).outs

    def _share(self) -> tuple[Arena, dict[str, Any]]:
        if self.kernel.memory != "cuda":
            return HostArena(self.arena_bytes), opencl_place(self.kernel) if self.on_host else {}
        from rooftile.devices.cuda.compile import compile_cubin

        device = open_gpu(self.kernel.device)
        arena = CudaArena(self.arena_bytes, device)
        delay = compile_cubin(_DELAY, {}, device.description.architecture)
        return arena, {"ipc": arena.handle.hex(), "delay": delay.hex()}
