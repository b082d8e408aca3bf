"""`vectors`: explicit vectors, with an exponential of our own.

The textbook's loops call the C library for one exponential at a time.  Here a vector's lanes are
computed at once (`rooftile.devices.cpu.native.vector_math` says how exactly).  A row of a few
vectors stays in registers.  Longer rows need three loops each, of which those for the maximum and
for the division by the sum wait for memory: so one loop computes the exponentials of a row, finds
the maximum of the next, and divides the one before.  The last vector of a row ends with it, over
lanes of the one before, since to write a part of a vector takes as long as ten whole ones on some
processors.  Where the arrays outgrow the cache, their lines are asked for early, since a processor
by itself looks ahead in one page at a time.  A core takes several rows at a time: to be told of one
takes longer than a short row.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, last_kernels, source, vector
from rooftile.ops import Softmax
from rooftile.strategies.common.streaming import pays
from rooftile.strategies.contract.cpu import CpuKernel, CpuStrategy

_CHAINS = 4
"""Vectors of the first row's running maxima: up to four cycles each, for which nothing waits."""
_MOST_HELD = 8
"""Vectors of a row that stays in registers."""
_EARLY = 1024
"""Elements ahead whose lines are asked for, in rows of at least as many."""
_UNIT = 4096
"""Elements of the rows that a core takes at a time: about a microsecond's work."""


class Vectors(CpuStrategy):
    """Takes every problem."""

    operation = "softmax"
    name = "vectors"
    summary = "explicit vectors, with an exponential of our own"

    def kernel(self, problem: Softmax) -> CpuKernel:
        classes, lanes = problem.classes, vector.lanes()
        together = max(1, _UNIT // classes)
        held = -(-classes // lanes)
        if held <= _MOST_HELD:
            function = _held(lanes, classes < lanes, held)
        else:
            function = _long(lanes, early=classes >= _EARLY and pays(problem.bytes))
        return CpuKernel(function, lambda rows: -(-rows // together), sizes=(classes, together))


def _kernel(lanes: int, stem: str, write_row: Callable[[Writer], None]) -> Native:
    """A kernel that does this for each row."""
    to = Writer()
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line("classes, most = sizes[0], x.size // sizes[0]")
        with to.block("for row in range(begin * sizes[1], min(end * sizes[1], most)):"):
            to.line("first = row * classes", "stop = first + classes")
            write_row(to)
    return source(stem, to.text(), lanes=lanes)


@last_kernels
def _held(lanes: int, part: bool, count: int) -> Native:
    """The kernel for rows of ``count`` vectors, or of a part of one."""

    def write_row(to: Writer) -> None:
        places = [f"first + {k * lanes}" for k in range(count - 1)] + [f"stop - {lanes}"]
        if part:
            to.line("x0 = load_part(x, first, classes)")
            to.line("x0 = joined(classes, x0, splat_at(x, first))")
        else:
            to.line(*(f"x{k} = load(x, {place})" for k, place in enumerate(places)))
        to.line(f"top = largest({_tree('larger', [f'x{k}' for k in range(count)])})")
        to.line(*(f"e{k} = grown_exp(subtract(x{k}, top))" for k in range(count)))
        # Lanes that do not count: behind a part, or those that the vector before has too.
        terms = [f"e{k}" for k in range(count)]
        zero = "splat(float32(0.0))"
        if part:
            terms = [f"joined(classes, e0, {zero})"]
        elif count > 1:
            terms[-1] = f"joined({count * lanes} - classes, {zero}, {terms[-1]})"
        to.line(f"share = divide(splat(float32(1.0)), summed({_tree('add', terms)}))")
        if part:
            to.line("store_part(out, first, multiply(e0, share), classes)")
        else:
            for k, place in enumerate(places):
                to.line(f"store(out, {place}, multiply(e{k}, share))")

    return _kernel(lanes, "softmax_part" if part else f"softmax_held{count}", write_row)


def _tree(combine: str, terms: Sequence[str]) -> str:
    """All terms combined, neighbours first."""
    while len(terms) > 1:
        pairs = [f"{combine}({', '.join(terms[k : k + 2])})" for k in range(0, len(terms) - 1, 2)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
    return terms[0]


@last_kernels
def _long(lanes: int, *, early: bool) -> Native:
    """For longer rows, whose exponentials wait in the result's own place."""
    to = Writer()
    with to.block("def largest_of(x, first, classes):"):
        _write_largest(to, lanes)
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line("classes, most = sizes[0], x.size // sizes[0]", f"last = classes - {lanes}")
        to.line("start, stop = begin * sizes[1], min(end * sizes[1], most)")
        with to.block("if start < stop:"):
            to.line("top = largest_of(x, start * classes, classes)", "share = top")
            with to.block("for row in range(start, stop + 1):"):
                to.line("first = row * classes", "behind = first - classes")
                to.line("ahead = min(row + 1, stop - 1) * classes")
                with to.block("if row == start:"):
                    _write_loop(to, lanes, early, raises=True, shares=False)
                with to.block("else:"):
                    with to.block("if row < stop:"):
                        _write_loop(to, lanes, early, raises=True, shares=True)
                    with to.block("else:"):
                        _write_loop(to, lanes, early, raises=False, shares=True)
    return source("softmax_early" if early else "softmax_vectors", to.text(), lanes=lanes)


def _write_loop(to: Writer, lanes: int, early: bool, *, raises: bool, shares: bool) -> None:
    """A row's exponentials and the maximum of the next row, the shares of the previous row."""
    if shares:
        # Some of its lanes are divided with the vector before it.
        to.line("rest = load(out, behind + last)")
    if raises:
        # NaN may be passed over: its exponential is NaN, and so is the row's sum.
        to.line("s = splat(float32(0.0))", "m = load(x, ahead + last)")
    with to.block(f"for at in range(0, last, {lanes}):"):
        if raises:
            to.line("e = grown_exp(subtract(load(x, first + at), top))")
            to.line("store(out, first + at, e)", "s = add(s, e)")
            to.line("m = larger(load(x, ahead + at), m)")
        if raises and early:
            to.line(*(f"prefetch2({a} + at + {_EARLY})" for a in ("x, ahead", "out, first")))
        if shares:
            to.line("store(out, behind + at, multiply(load(out, behind + at), share))")
    if shares:
        to.line("store(out, behind + last, multiply(rest, share))")
    if raises:
        to.line("e = grown_exp(subtract(load(x, first + last), top))")
        to.line("store(out, first + last, e)", f"more = (classes - 1) % {lanes} + 1")
        to.line(f"s = add(s, joined({lanes} - more, splat(float32(0.0)), e))")
        to.line("share = divide(splat(float32(1.0)), summed(s))", "top = largest(m)")


def _write_largest(to: Writer, lanes: int) -> None:
    """The largest of a row, in several chains."""
    step = lanes * _CHAINS
    to.line("stop = first + classes", f"last = stop - {lanes}", "m0 = load(x, last)")
    to.line(*(f"m{c} = m0" for c in range(1, _CHAINS)))
    with to.block(f"for at in range(first, stop - {step - 1}, {step}):"):
        to.line(*(f"m{c} = larger(load(x, at + {c * lanes}), m{c})" for c in range(_CHAINS)))
    with to.block(f"for at in range(first + classes // {step} * {step}, last, {lanes}):"):
        to.line("m0 = larger(load(x, at), m0)")
    to.line(f"return largest({_tree('larger', [f'm{c}' for c in range(_CHAINS)])})")


STRATEGY = Vectors()
