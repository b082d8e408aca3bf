"""Rung 3, `vectors`: explicit vectors, with an exponential of our own.

The textbook's loops call the C library for one exponential at a time.  Here a vector's lanes are
computed at once, within 1.2 units in the last place
(`rooftile.devices.cpu.native.vector_math`).  A row is read three times, from memory once; its
maximum, and its sum, are kept in several vectors each, so that none waits for the one before it.
A short row is one vector, and is written once.

Source: Goodfellow, Bengio, Courville, "Deep Learning" (2016), section 4.1.
"""

from __future__ import annotations

from functools import cache

from rooftile.devices.cpu.emit import Writer
from rooftile.devices.cpu.native import Native, source, vector
from rooftile.ops import Softmax
from rooftile.strategies.cpu import CpuKernel, CpuStrategy

_CHAINS = 4
"""Vectors of running maxima and sums, four cycles each."""


class Vectors(CpuStrategy):
    """Takes every problem."""

    operation = "softmax"
    name = "vectors"
    order = 3
    summary = "explicit vectors, with an exponential of our own"

    def why_not(self, problem: Softmax) -> str | None:
        """None: it takes everything."""
        return None

    def kernel(self, problem: Softmax) -> CpuKernel:
        """See `CpuStrategy.kernel`."""
        short = problem.classes <= vector.lanes()
        return CpuKernel(
            _compiled(vector.lanes(), short), units=lambda rows: rows, sizes=(problem.classes,)
        )


STRATEGY = Vectors()


@cache
def _compiled(lanes: int, short: bool) -> Native:
    text = _short() if short else _long(lanes)
    return source("softmax_short" if short else "softmax_vectors", text, lanes=lanes)


def _short() -> str:
    """Rows that fit a vector: lanes beyond them hold the row's first element, then zero."""
    to = Writer()
    with (
        to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"),
        to.block("for row in range(begin, end):"),
    ):
        to.line(
            "classes = sizes[0]",
            "at = row * classes",
            "z = load_part(x, at, classes)",
            "z = joined(classes, z, splat_at(x, at))",
            "e = exp(subtract(z, largest(z)))",
            "e = joined(classes, e, splat(float32(0.0)))",
            "store_part(out, at, divide(e, summed(e)), classes)",
        )
    return to.text()


def _long(lanes: int) -> str:
    """Rows in groups of vectors, then one by one; the last one ends with the row."""
    to, chains = Writer(), range(_CHAINS)
    with to.block("def kernel(x, weights, bias, out, scratch, sizes, begin, end):"):
        to.line("classes = sizes[0]", f"groups = classes // {lanes * _CHAINS}")
        with to.block("for row in range(begin, end):"):
            to.line("first, stop = row * classes, (row + 1) * classes")
            to.line(f"whole = first + groups * {lanes * _CHAINS}")
            _emit_largest(to, lanes)
            to.line(*(f"s{c} = splat(float32(0.0))" for c in chains))
            with to.block(f"for at in range(first, whole, {lanes * _CHAINS}):"):
                for c in chains:
                    to.line(f"e = exp(subtract(load(x, at + {c * lanes}), top))")
                    to.line(f"store(out, at + {c * lanes}, e)", f"s{c} = add(s{c}, e)")
            with to.block(f"for at in range(whole, stop, {lanes}):"):
                to.line("e = exp(subtract(load_part(x, at, stop - at), top))")
                to.line("e = joined(stop - at, e, splat(float32(0.0)))")
                to.line("store_part(out, at, e, stop - at)", "s0 = add(s0, e)")
            to.line("share = divide(splat(float32(1.0)), summed(add(add(s0, s1), add(s2, s3))))")
            with to.block(f"for at in range(first, whole, {lanes * _CHAINS}):"):
                for c in chains:
                    place = f"at + {c * lanes}"
                    to.line(f"store(out, {place}, multiply(load(out, {place}), share))")
            with to.block(f"for at in range(whole, stop, {lanes}):"):
                to.line("e = multiply(load_part(out, at, stop - at), share)")
                to.line("store_part(out, at, e, stop - at)")
    return to.text()


def _emit_largest(to: Writer, lanes: int) -> None:
    """Write the row's maximum in every lane of ``top``; the row has a vector at least.

    It may pass over NaN, whose exponential then is NaN, and the row's sum.
    """
    chains = range(_CHAINS)
    to.line("m0 = load(x, first)", *(f"m{c} = m0" for c in chains if c))
    with to.block(f"for at in range(first, whole, {lanes * _CHAINS}):"):
        to.line(*(f"m{c} = larger(load(x, at + {c * lanes}), m{c})" for c in chains))
    with to.block(f"for at in range(whole, stop - {lanes}, {lanes}):"):
        to.line("m0 = larger(load(x, at), m0)")
    to.line(f"m0 = larger(load(x, stop - {lanes}), m0)")
    to.line("top = largest(larger(larger(m0, m1), larger(m2, m3)))")
