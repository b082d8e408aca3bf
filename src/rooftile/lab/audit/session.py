"""A process under audit with a problem's arrays laid out for it: write, run, look.

Every run poisons the outputs first, and looks at outputs, guards and inputs while the
process is frozen in the state in which it answered.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.select import open_gpu
from rooftile.lab.audit.arena import GUARD, POISON, Arena, CudaArena, HostArena, Slot, layout
from rooftile.lab.audit.child import Child, memory_limit
from rooftile.lab.audit.kernel import Foreign
from rooftile.lab.verify import random_inputs
from rooftile.ops import Float32, Problem

_HERE = Path(__file__).parent
_KEPT = 6
"""Results that are remembered, to recognise them when they come again."""
_GRACE_S = 0.3
"""How long late work may take to be recognised as such."""
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

Arrays = tuple[Float32, ...]
"""An input and its parameters."""


def slots_for(problem: Problem) -> int:
    """How many sets of arrays of a problem to have at most."""
    return max(1, min(_MOST_SLOTS, _SLOT_BYTES // max(1, problem.bytes)))


@dataclass(frozen=True)
class Seen:
    """One result as it lay there when the process had answered."""

    out: Float32
    intact: bool
    """Whether the guards around it are as they were."""
    altered: tuple[str, ...]
    """Inputs that are not as they were written."""


@dataclass(frozen=True)
class Run:
    """What a request came to."""

    wall_s: float
    """From thawing the process to its answer, by the judge's clock."""
    told: dict[str, Any]
    """What the process says; not to be believed."""
    slots: tuple[int, ...]
    """What was run, in this order."""
    seen: tuple[Seen, ...]
    """For each of them."""


@dataclass
class Session:
    """A foreign kernel in its process.  Use as a context manager."""

    kernel: Foreign
    arena_bytes: int
    limit_s: float
    problem: Problem | None = None
    slots: list[Slot] = field(default_factory=list)
    earlier: list[Float32] = field(default_factory=list)
    """Right or wrong, results of this problem."""

    def __enter__(self) -> Session:
        self.arena, extra = self._share()
        script = "worker_text.py" if self.kernel.text else "worker.py"
        memory = memory_limit() if self.kernel.kind == "cpu" else 0
        self.child = Child(_HERE / script, self.arena.fd, memory, self.limit_s)
        self._load = {
            "do": "load", "file": str(self.kernel.path), "function": self.kernel.function,
            "arrays": self.kernel.arrays, "device": self.kernel.device, **extra,
        }  # fmt: skip
        self._written: dict[int, Arrays] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close()
        self.arena.close()

    def load(self) -> dict[str, Any]:
        """Have the kernel's file read.  Raises `Died`, `Complained`."""
        return self.child.ask(self._load)

    def lay(self, problem: Problem, slots: int = 1) -> None:
        """Make arrays for a problem.  Raises `Died`, `Complained`."""
        self.problem, self.earlier, self._written = problem, [], {}
        place = "cuda" if self.kernel.kind == "cuda" and not self.kernel.text else "cpu"
        self.slots, needed = layout(problem, slots, place)
        assert needed <= self.arena_bytes, "the arena was sized for every problem"
        self.child.ask({
            "do": "arrays", "operation": problem.operation,
            "fields": dataclasses.asdict(problem),  # type: ignore[call-overload]
            **({"problem": pickle.dumps(problem).hex()} if self.kernel.text else {}),
            "names": ["x", *problem.parameter_shapes],
            "slots": [{"inputs": slot.inputs, "out": slot.out} for slot in self.slots],
        })  # fmt: skip

    def fresh(self) -> Arrays:
        """Inputs that nobody knows: from the system's entropy."""
        assert self.problem is not None
        return random_inputs(self.problem, secrets.randbits(128))

    def write(self, slot: int, arrays: Arrays) -> None:
        """Put inputs into a slot."""
        self._written[slot] = arrays
        for (offset, _), values in zip(self.slots[slot].inputs, arrays, strict=True):
            self.arena.put(offset, values)

    def run(self, slots: Sequence[int] = (0,), look: bool = True, **options: Any) -> Run:
        """Call the kernel once for each of the slots, in this order.  Raises `Died`,
        `Complained`."""
        for slot in set(slots):
            self.poison(slot)
        told = self.child.ask({"do": "run", "slots": list(slots), **options})
        seen = tuple(self.look(slot) for slot in slots) if look else ()
        return Run(float(told["wall_s"]), told, tuple(slots), seen)

    def poison(self, slot: int) -> None:
        """Fill an output and its guards."""
        offset, shape = self.slots[slot].out
        values = np.full(math.prod(shape) + 2 * GUARD, POISON, np.uint32)
        self.arena.put(offset - 4 * GUARD, values)

    def look(self, slot: int) -> Seen:
        """What lies in a slot now."""
        assert self.problem is not None
        offset, shape = self.slots[slot].out
        count = math.prod(shape)
        whole = self.arena.get(offset - 4 * GUARD, count + 2 * GUARD)
        bits = whole.view(np.uint32)
        guards = np.concatenate([bits[:GUARD], bits[GUARD + count :]])
        out = whole[GUARD : GUARD + count].reshape(shape)
        names = ["x", *self.problem.parameter_shapes]
        altered = [
            name
            for name, (at, _), values in zip(
                names, self.slots[slot].inputs, self._written[slot], strict=True
            )
            if not np.array_equal(
                self.arena.get(at, values.size).view(np.uint32), values.reshape(-1).view(np.uint32)
            )
        ]
        return Seen(out, bool((guards == POISON).all()), tuple(altered))

    def remember(self, out: Float32) -> None:
        """Keep a result, to recognise it when it comes again."""
        self.earlier = [*self.earlier[-_KEPT + 1 :], out]

    def later(self, slot: int) -> Float32:
        """A slot's output after the process was let run on for a while unasked."""
        self.child.thaw()
        time.sleep(_GRACE_S)
        self.child.freeze()
        return self.look(slot).out

    def _share(self) -> tuple[Arena, dict[str, Any]]:
        if self.kernel.text or self.kernel.kind == "cpu":
            extra = {"launch": pickle.dumps(self.kernel.launch).hex()} if self.kernel.text else {}
            return HostArena(self.arena_bytes), extra
        from rooftile.devices.cuda.compile import compile_cubin

        device = open_gpu(self.kernel.device)
        arena = CudaArena(self.arena_bytes, device)
        delay = compile_cubin(_DELAY, {}, device.description.architecture)
        return arena, {"ipc": arena.handle.hex(), "delay": delay.hex()}
