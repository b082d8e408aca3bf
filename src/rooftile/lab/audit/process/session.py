"""A process under audit with a problem's arrays laid out for it: write, run, look.

Every run first poisons the outputs.  After the answer it looks at outputs, guards and inputs
while the process is frozen in the state in which it answered.
"""

from __future__ import annotations

import dataclasses
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile.devices.cache import cache_directory, history_file
from rooftile.devices.select import open_gpu
from rooftile.errors import InputError
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.audit.poison import bits, poison
from rooftile.lab.audit.process.arena import GUARD, Arena, CudaArena, HostArena, Slot, layout
from rooftile.lab.audit.process.channel import Answer
from rooftile.lab.audit.process.child import Child, Complained, memory_limit
from rooftile.lab.judge.exam import as_bytes
from rooftile.lab.measure.records import plain
from rooftile.ops import AnyArray, Problem

_PACKAGE = Path(__file__).resolve().parents[3]
_KEPT = 6
"""How many results are remembered, to recognise them when they come again."""
_MOST_PLAIN = 2**16
"""Elements of the largest output that is poisoned with ordinary numbers: of more of them, some
equal their results by chance."""
_GRACE_S = 0.3
"""After its answer the process may run on for so many seconds, in which late work shows."""
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
"""At most so many sets of arrays, and no more than take about so many bytes."""

Arrays = tuple[AnyArray, ...]
"""Inputs and parameters; or outputs."""


def hidden_from(kernel: Path) -> list[Path]:
    """What a kernel must not see: rooftile, and what it keeps for its user.

    Nothing that the kernel's own file lies in can be hidden from it.
    """
    history = history_file()
    files = [history.with_name(history.name + end) for end in ("", "-wal", "-shm")]
    # There may be several of them: a checkout, and what is installed.
    packages = {Path(entry or ".").resolve() / _PACKAGE.name for entry in sys.path}
    folders = [*({_PACKAGE} | {one for one in packages if one.is_dir()}), cache_directory()]
    return [one for one in (*folders, *files) if not kernel.is_relative_to(one.absolute())]


def slots_for(problem: Problem) -> int:
    """How many sets of arrays of a problem to have at most."""
    return max(1, min(_MOST_SLOTS, _SLOT_BYTES // max(1, problem.bytes)))


@dataclass(frozen=True)
class Seen:
    """A result as it lay there when the process had answered."""

    outs: Arrays
    left: tuple[NDArray[np.bool_], ...]
    """Which elements of each output hold their poison."""
    intact: bool
    """Whether the guards around the outputs are untouched."""
    altered: tuple[str, ...]
    """Inputs that are not as they were written."""


@dataclass(frozen=True)
class Earlier:
    """A result that was seen before, for other inputs."""

    outs: Arrays
    right: bool


@dataclass(frozen=True)
class Run:
    """What a request came to."""

    wall_s: float
    """From thawing the process to its answer, by the judge's clock."""
    told: Answer
    """What the process says; not to be believed."""
    others: int
    """How many other processes it had at its answer."""
    slots: tuple[int, ...]
    """The slots that were run, in this order."""
    seen: tuple[Seen, ...]
    """What lay in each of them."""


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
        self.child = Child(
            "worker_text.py" if self.kernel.text else "trampoline.py",
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
        return self

    @cached_property
    def on_host(self) -> bool:
        """Whether it runs on the processor, as any program of the host: a text may do so too."""
        kernel = self.kernel
        return kernel.kind == "cpu" or (
            kernel.kind == "opencl" and not open_gpu(kernel.device).description.gpu
        )

    def _hidden(self) -> Sequence[Path] | None:
        """What its process must not see; None where no code of a stranger's runs in it."""
        if self.kernel.text:
            # Rooftile compiles and launches it there.
            return () if self.on_host else None
        return hidden_from(self.kernel.path)

    def __exit__(self, *_: object) -> None:
        self.child.close()
        self.arena.close()

    def load(self) -> str:
        """Have the kernel's file read; whose arrays it takes.  Raises `Died`, `Complained`."""
        return self.child.ask(self._load)[0].text

    def lay(self, problem: Problem, slots: int = 1, places: list[Slot] | None = None) -> None:
        """Make arrays for a problem, at new places, or at those where they lay before. Raises
        `Died`, `Complained`."""
        self.problem, self.earlier, self._written, self._poison = problem, [], {}, {}
        self.slots, needed = layout(problem, slots, self.kernel.memory, self._generator)
        self.slots = places or self.slots
        assert needed <= self.arena_bytes, "the arena was sized for every problem"
        shapes = {array.name: array.shape for array in problem.output_arrays}
        self.child.ask(
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
                **self._launch(problem),
            }
        )

    def _launch(self, problem: Problem) -> dict[str, Any]:
        """How a text's kernel is launched for a problem."""
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
        **options: Any,
    ) -> Run:
        """Call the kernel once for each of the slots, in this order. Raises `Died`, `Complained`.
        ``scrub`` leaves poison in the memory that the kernel's next allocations will get.
        ``meanwhile`` is called while the answer is awaited."""
        for slot in set(slots):
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
            poison(place.array, GUARD, self._generator, plain and place.array.size <= _MOST_PLAIN)
            for place in places
        ]
        for place, values in zip(places, self._poison[slot], strict=True):
            self.arena.put(place.offset - GUARD, values)

    def look(self, slot: int) -> Seen:
        """What lies in a slot now."""
        outs, left, intact = [], [], True
        for place, poisoned in zip(self.slots[slot].outs, self._poison[slot], strict=True):
            array, inside = place.array, slice(GUARD, GUARD + place.array.nbytes)
            whole = self.arena.get(place.offset - GUARD, array.nbytes + 2 * GUARD)
            out, before = (
                flat[inside].view(array.numpy).reshape(array.shape) for flat in (whole, poisoned)
            )
            outs.append(out)
            left.append(np.asarray(bits(out) == bits(before)))
            for guard in (slice(0, GUARD), slice(GUARD + array.nbytes, None)):
                intact = intact and np.array_equal(whole[guard], poisoned[guard])
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
        if self.kernel.memory == "cpu":
            return HostArena(self.arena_bytes), {}
        from rooftile.devices.cuda.compile import compile_cubin

        device = open_gpu(self.kernel.device)
        arena = CudaArena(self.arena_bytes, device)
        delay = compile_cubin(_DELAY, {}, device.description.architecture)
        return arena, {"ipc": arena.handle.hex(), "delay": delay.hex()}
