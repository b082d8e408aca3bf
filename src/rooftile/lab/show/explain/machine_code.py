"""The instructions of a CPU kernel's busiest loop, read from its machine code.

The loop is an innermost one: one that calls a library for its mathematics or, where none does, the
one whose arithmetic is done most often, if every loop around it runs four times; where nothing is
calculated in floating point, the one that names memory most often in a pass. The instructions of
its body are counted: a loop that the compiler has unrolled has several rounds in its body. The
assembly is x86-64's, in AT&T's order, where the result is the last operand; other processors have
no explanation.

Source: Wu, Larus, "Static branch frequency and program profile analysis", MICRO 27 (1994), for the
guess of a loop's rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rooftile.devices.cpu.native import Native, build

_ARITHMETIC = re.compile(
    r"v?(?P<what>add|sub|mul|div|max|min|sqrt|scalef|fn?m(?:add|sub)\d{3})(?P<kind>[ps])[sd]\b"
)
_LABEL, _JUMP = re.compile(r"(\.LBB\w+):"), re.compile(r"j(\w+)\s+(\.LBB\w+)")
_CALL = re.compile(r"call\w*\s+\*?(\w+)?")
_VECTOR = re.compile(r"%([xyz])mm(\d+)")
_STACK = re.compile(r"\d*\(%r(sp|bp)\)")
_MEMORY = re.compile(r"\(%?r?\w")
_MATHEMATICS = re.compile(r"(exp|expm1|log|log1p|tanh|sin|cos|pow|fmod)f?")
_TURNS = 4
"""Rounds that a loop is taken to have."""
_LANES = {"x": 4, "y": 8, "z": 16}
_VECTORS = " x float>"
"""The type in LLVM's text of a function that is written in vectors."""


@dataclass(frozen=True)
class Loop:
    """The busiest loop of a kernel, as its body stands in the machine code."""

    instructions: int
    vector_operations: int
    """Arithmetic instructions on vectors."""
    scalar_operations: int
    """Arithmetic instructions on one number."""
    lanes: int
    """float32 of the widest vector that it calculates with; 1 without vectors."""
    flops: int
    """Of a pass through the body: a multiply-add counts as two for each lane."""
    chains: int
    """Registers whose next value rests on their last one, as a running sum's does."""
    longest_chain: int
    """Arithmetic instructions of a pass on one of those registers, each of which waits for the one
    before."""
    registers: int
    """Vector registers that it names."""
    loads: int
    """Instructions that read or write memory, but for the stack."""
    spills: int
    """Instructions that read or write the stack."""
    branches: int
    """Jumps under a condition, but for the loop's own."""
    vector_bytes: int = 0
    """Of the widest vector that it names, whatever it does with it; 0 without vectors."""
    calls: tuple[str, ...] = field(default=())
    """Library functions that it calls."""

    @property
    def mathematics(self) -> tuple[str, ...]:
        """The functions of the C library's mathematics among them."""
        return tuple(name for name in self.calls if _MATHEMATICS.fullmatch(name))

    def chain_gflops(self, latency_ns: float) -> float | None:
        """1e9 FLOP a second of a thread, if a step takes so long; None without a chain."""
        return self.flops / (self.longest_chain * latency_ns) if self.longest_chain else None


def busiest_loop(kernel: Native, dtypes: Sequence[str], scratch: bool) -> Loop | None:
    """The busiest loop of a kernel for arrays of these dtypes; None where there is none to be
    read."""
    text = kernel.text(dtypes, scratch)
    # Its own function is the last one but for the entry, behind those that it calls.
    own = text.rpartition("\ndefine internal ")[2]
    return busiest(build.assembly(text, kernel.passes), in_vectors=_VECTORS in own)


def busiest(assembly: str, *, in_vectors: bool = False) -> Loop | None:
    """The busiest loop of an assembly's text.

    ``in_vectors``: the kernel is written in vectors, and its loops over single numbers are borders,
    at any depth.
    """
    loops = [(depth, _loop(body)) for depth, body in _innermost(assembly.splitlines())]
    working = [(depth, loop) for depth, loop in loops if loop.flops or loop.loads]

    def work(one: tuple[int, Loop]) -> tuple[bool, bool, int, int, int]:
        depth, loop = one
        often = loop.flops * _TURNS**depth
        moves = 0 if loop.flops else loop.loads
        return bool(loop.mathematics), in_vectors and loop.lanes > 1, often, loop.flops, moves

    return max(working, key=work)[1] if working else None


def _innermost(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The depth and the instructions of each loop that has no loop within."""
    code = [line.strip() for line in lines]
    code = [line for line in code if line and (line[0] != "." or _LABEL.match(line))]
    places = {label[1]: i for i, line in enumerate(code) if (label := _LABEL.match(line))}
    spans = []
    for i, line in enumerate(code):
        jump = _JUMP.match(line)
        if jump and places.get(jump[2], i) < i:
            spans.append((places[jump[2]], i))
    for first, last in spans:
        others = [span for span in spans if span != (first, last)]
        if not any(first <= a and b <= last for a, b in others):
            depth = sum(a <= first and last <= b for a, b in others)
            yield depth, [line for line in code[first : last + 1] if not _LABEL.match(line)]


def _loop(body: list[str]) -> Loop:
    made = [(line, found) for line in body if (found := _ARITHMETIC.match(line))]
    vectors = [_width(line) for line, found in made if found["kind"] == "p"]
    flops = sum(
        (_width(line) if found["kind"] == "p" else 1) * (2 if found["what"][0] == "f" else 1)
        for line, found in made
    )
    steps = _carried(body)
    jumps = [line for line in body if (jump := _JUMP.match(line)) and jump[1] != "mp"]
    return Loop(
        instructions=len(body),
        vector_operations=len(vectors),
        scalar_operations=len(made) - len(vectors),
        lanes=max(vectors, default=1),
        flops=flops,
        chains=len(steps),
        longest_chain=max(steps.values(), default=0),
        registers=len({number for line in body for _, number in _VECTOR.findall(line)}),
        loads=sum(bool(_MEMORY.search(line)) and not _STACK.search(line) for line in body),
        spills=sum(bool(_STACK.search(line)) for line in body),
        branches=max(0, len(jumps) - 1),
        vector_bytes=4 * max(map(_named_lanes, body), default=0),
        calls=tuple(call[1] or "?" for line in body if (call := _CALL.match(line))),
    )


def _width(line: str) -> int:
    return _named_lanes(line) or _LANES["x"]


def _named_lanes(line: str) -> int:
    """float32 of the widest vector register of an instruction; 0 without one."""
    return max((_LANES[kind] for kind, _ in _VECTOR.findall(line)), default=0)


def _carried(body: list[str]) -> dict[str, int]:
    """The registers that a pass takes over from the one before and calculates with, each with the
    number of steps on it."""
    written: set[str] = set()
    steps: dict[str, int] = {}
    for line in body:
        registers = [number for _, number in _VECTOR.findall(line)]
        if not registers:
            continue
        to, found = registers[-1], _ARITHMETIC.match(line)
        # A multiply-add reads the register that it writes.
        reads = registers if found and found["what"][0] == "f" else registers[:-1]
        if found and to in reads and (to in steps or to not in written):
            steps[to] = steps.get(to, 0) + 1
        else:
            steps.pop(to, None)
        written.add(to)
    return steps
