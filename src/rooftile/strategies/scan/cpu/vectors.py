"""`vectors`: vectors scanned in registers, each round's sums made in the round before.

A line is scanned in rounds that fit into the cores' caches, each by `_PARTS` parts.  While a part
of a round is scanned, the same part of the next round is summed: so it is in the cache when its
turn comes, what is before it is known, and x is read from memory once.  Where the results outgrow
the cache, they are stored past it.  Many lines are scanned by a core each.

What is before a part is summed in double precision, and so is what is before each block of it: a
result is rounded twice, besides what happens inside of its block.  Parts follow from the problem
and not from the threads, so that results do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rooftile._locks import lock
from rooftile.analysis.accesses import Counted
from rooftile.analysis.cooperation import through, tree_depth
from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, last_kernels, source
from rooftile.devices.cpu.native.vector import lanes
from rooftile.ops import AnyArray
from rooftile.ops.features import features
from rooftile.ops.operator import MAX, MIN, PRODUCT, SUM, Operator
from rooftile.ops.patterns.scan import Scan
from rooftile.ops.problem import Dtype
from rooftile.strategies import HostStrategy
from rooftile.strategies.common.operators import in_kernel_language, number_in_kernel_language
from rooftile.strategies.common.streaming import pays
from rooftile.strategies.scan.cpu import _bands

_PARTS = 32
"""Parts of a round, which the cores share out."""
_PART = 4096
"""Elements of a part."""
_BLOCK = 1024
"""Elements that are combined in single precision."""
_FEW = 8
"""Number of lines up to which all cores scan each line together."""
_LINE = 64
"""Bytes of a cache's line."""
_LANES = 8
"""Of a vector that is scanned: each doubling of them is a pass more over all elements."""
_OWN = {
    False: {"in_lanes": "v", "in_line": "own", "own": "v", "own_scalar": "v"},
    True: {
        "in_lanes": "lifted(v, carry, 1)",
        "in_line": "so_far",
        "own": "own",
        "own_scalar": "own",
    },
}
"""The prefix of a result within a block: inclusive, or exclusive."""
_WORDS = {SUM: "add", PRODUCT: "multiply", MIN: "minimum", MAX: "maximum"}

_FUNCTIONS = """
def one(a, b):
    return {one}

def both(a, b):
    return {both}

def vector(x, origin, i):
    return {load}
"""
_SCAN = """
def scan_block(x, y, origin, first, last, base):
    none = splat({identity})
    before = splat(base)
    carry = none
    whole = first + (last - first) // {lanes} * {lanes}
    for i in range(first, whole, {lanes}):
        v = vector(x, origin, i)
{passes}
        v = {word}(carry, v)
        results = {word}(before, {in_lanes})
        carry = splat_last(v)
        {keep}
    so_far = last_of(carry)
    for i in range(whole, last):
        own = one(so_far, x[origin + {sign} * i])
        y[origin + {sign} * i] = one(np.float32(base), {in_line})
        so_far = own
    return so_far
"""
_SUM = """
def sum_block(x, origin, first, last):
    a = splat({identity})
    whole = first + (last - first) // {lanes} * {lanes}
    for i in range(first, whole, {lanes}):
        a = {word}(a, vector(x, origin, i))
{folds}
    all = last_of(a)
    for i in range(whole, last):
        all = one(all, x[origin + {sign} * i])
    return all
"""
# A whole block, while one ahead is summed: loads from memory are always under way.  The block
# behind that one is asked for already, which the processor's own prefetching does too late.
_BOTH = """
def scan_and_sum(x, y, origin, first, base, ahead, sums):
    none = splat({identity})
    before = splat(base)
    carry = none
    a = none
    for i in range(first, first + {block}, {lanes}):
        prefetch1(x, origin + {sign} * (i + ahead + {block}))
        a = {word}(a, vector(x, origin, i + ahead))
        v = vector(x, origin, i)
{passes}
        v = {word}(carry, v)
        results = {word}(before, {in_lanes})
        carry = splat_last(v)
        {keep}
{folds}
    sums[0] = last_of(a)
    return last_of(carry)
"""
_LINES = f"""{_FUNCTIONS}{_SCAN}
def kernel(x, y, sizes, begin, end):
    count = sizes[0]
    for line in range(begin, end):
        origin = {{origin}}
        base = {{base}}
        for i in range(0, count, {_BLOCK}):
            all = scan_block(x, y, origin, i, min(i + {_BLOCK}, count), base)
            base = both(base, {{wide}}(all))
"""
_ROUNDS = f"""{_FUNCTIONS}{_SCAN}{_SUM}{_BOTH}
def kernel(x, y, sums, bases, sizes, begin, end):
    count, line, turn, rounds = sizes[0], sizes[1], sizes[2], sizes[3]
    origin = {{origin}}
    found = np.empty(16, np.float32)
    for part in range(begin, end):
        base = {{base}}
        if turn > 0:
            base = bases[turn]
        for other in range(part):
            base = both(base, sums[turn * {_PARTS} + other])
        if part == {_PARTS} - 1:
            bases[turn + 1] = both(base, sums[turn * {_PARTS} + part])
        # In the first turn nothing is scanned, and in the last nothing summed.
        first = ((turn - 1) * {_PARTS} + part) * {_PART}
        all = {{base}}
        for at in range(first, first + {_PART}, {_BLOCK}):
            ahead = at + {_PARTS * _PART}
            if turn > 0 and ahead + {_BLOCK} <= count:
                own = scan_and_sum(x, y, origin, at, base, {_PARTS * _PART}, found)
                base = both(base, {{wide}}(own))
                all = both(all, {{wide}}(found[0]))
            else:
                if turn > 0 and at < count:
                    own = scan_block(x, y, origin, at, min(at + {_BLOCK}, count), base)
                    base = both(base, {{wide}}(own))
                if ahead < count:
                    own = sum_block(x, origin, ahead, min(ahead + {_BLOCK}, count))
                    all = both(all, {{wide}}(own))
        sums[(turn + 1) * {_PARTS} + part] = all
"""
_STEMS = {_LINES: "scan_lines", _ROUNDS: "scan_rounds", _bands.TEXT: "scan_bands"}


@last_kernels
def _kernel(text: str, operator: Operator, exclusive: bool, reverse: bool, streams: bool) -> Native:
    """The kernel of a text, with the operator's words and the words of the direction."""
    carried: Dtype = "float32" if operator.selects else "float64"
    width = lanes() if text is _bands.TEXT else _LANES
    given = _words(operator, carried, width) | _ways(width, exclusive, reverse, streams)
    return source(_STEMS[text], text.format(**given), lanes=width)


def _words(operator: Operator, carried: Dtype, width: int) -> dict[str, object]:
    """The operator on vectors, on single numbers, and on what is before a block."""
    word, tree = _WORDS[operator], operator.tree
    steps = [1 << k for k in range(width.bit_length() - 1)]
    return {
        "lanes": width,
        "word": word,
        "wide": f"np.{carried}",
        "identity": number_in_kernel_language(operator.identity_in("float32"), "float32"),
        "base": number_in_kernel_language(operator.identity_in(carried), carried),
        "one": in_kernel_language(tree, "float32"),
        "both": in_kernel_language(tree, carried),
        "passes": "\n".join(f"        v = {word}(lifted(v, none, {k}), v)" for k in steps),
        "folds": "\n".join(f"    a = {word}(lifted(a, a, {k}), a)" for k in reversed(steps)),
    }


def _ways(width: int, exclusive: bool, reverse: bool, streams: bool) -> dict[str, object]:
    """Words for the addresses of a line's elements, and for the value that a result takes."""
    last, store = width - 1, "stream_quads" if streams else "store"
    found: dict[str, object] = {"block": _BLOCK}
    if reverse:
        return found | {
            "sign": -1,
            "origin": "line * count + count - 1",
            "row": "count - 1 - element",
            "load": f"backwards(load(x, origin - i - {last}))",
            "keep": f"{store}(y, origin - i - {last}, backwards(results))",
            "store": store,
            **_OWN[exclusive],
        }
    return found | {
        "sign": 1,
        "origin": "line * count",
        "row": "element",
        "load": "load(x, origin + i)",
        "keep": f"{store}(y, origin + i, results)",
        "store": store,
        **_OWN[exclusive],
    }


class Vectors(HostStrategy):
    """Takes sums, products, least and greatest of float32."""

    operation = "scan"
    name = "vectors"
    summary = "vectors scanned in registers, sums made a round ahead, results past the cache"
    takes = features("axis exclusive operator:max,min,product reverse")

    def limits(self, problem: Scan) -> str | None:
        if problem.operator not in _WORDS:
            return f"its vectors have no {problem.operator!r}"
        if problem.dtype != "float32":
            return f"{problem.dtype}: its vectors are float32"
        if 1 < problem.inner < lanes():
            return f"{problem.inner} adjacent lines are less than a vector"
        return None

    def units(self, problem: Scan) -> int:
        if problem.inner > 1:
            return problem.outer * -(-problem.inner // _bands.BAND)
        return problem.lines if problem.lines > _FEW else _PARTS

    def accesses(self, problem: Scan) -> Counted:
        """Vectors: log2 of their lanes in passes, and one for what is before.  Elements of a line
        in rounds are read again for their sums, from the cache."""
        count, width = problem.lines * problem.count, _LANES
        if problem.inner > 1:
            return {"bands of lines": through(count, count, count, problem.count)}
        work = (1 + tree_depth(width)) * count
        if problem.lines > _FEW:
            return {"lines": through(count, count, work, -(-problem.count // width))}
        part = -(-problem.count // (_PARTS * -(-problem.count // (_PARTS * _PART))))
        vectors = -(-part // width)
        return {
            "sums of the round ahead": through(count, 0, count, vectors),
            "scans of a round": through(count, count, work, vectors),
        }

    def prepare(
        self, problem: Scan, parameters: tuple[AnyArray, ...], threads: int
    ) -> Callable[..., None]:
        if problem.inner > 1 or problem.lines > _FEW:
            return self._at_once(problem, threads)
        return _Rounds(problem, threads)

    def _at_once(self, problem: Scan, threads: int) -> Callable[..., None]:
        """Units that need nothing of each other."""
        numbers: tuple[int, ...] = (problem.count,)
        text = _LINES
        if problem.inner > 1:
            text = _bands.TEXT
            numbers = (problem.count, problem.inner, -(-problem.inner // _bands.BAND))
        sizes, units = np.array(numbers, np.int64), self.units(problem)
        ways = problem.operator, problem.exclusive, problem.reverse

        def call(x: AnyArray, y: AnyArray) -> None:
            kernel = _kernel(text, *ways, _streams(problem, y))
            cpu.Spread(kernel, ("float32",) * 2)((x, y), sizes, units, threads)

        return call


class _Rounds:
    """Each line in rounds, all of which are one call of the team."""

    def __init__(self, problem: Scan, threads: int) -> None:
        self._problem, self._threads = problem, threads
        rounds = -(-problem.count // (_PARTS * _PART))
        wide = np.dtype(np.float32 if problem.operator.selects else np.float64)
        self._sums = cpu.aligned(((rounds + 2) * _PARTS,), wide, "sums of parts")
        self._bases = cpu.aligned((rounds + 2,), wide, "sums of rounds")
        self._sizes = np.array(
            [
                (problem.count, line, turn, rounds)
                for line in range(problem.lines)
                for turn in range(rounds + 1)
            ],
            np.int64,
        )
        self._sums[:_PARTS] = problem.operator.identity
        self._turn = lock()
        self._works = {streams: self._work(streams) for streams in (False, True)}

    def _work(self, streams: bool) -> cpu.KernelSequence:
        problem = self._problem
        ways = problem.operator, problem.exclusive, problem.reverse
        wide = "float32" if problem.operator.selects else "float64"
        kernel = _kernel(_ROUNDS, *ways, streams)
        entry = cpu.Entry(kernel, ("float32", "float32", wide, wide))
        held = cpu.places((self._sums, self._bases))
        size = problem.arrays[0].size
        rows = [(_PARTS, 0, size, 0, size, *held, *cpu.places((s,))) for s in self._sizes]
        return cpu.KernelSequence([entry] * len(rows), rows)

    def __call__(self, x: AnyArray, y: AnyArray) -> None:
        work = self._works[_streams(self._problem, y)]
        with self._turn:
            # Behind entry and units: the addresses of x and of y.
            for row in work.rows:
                row[2], row[4] = cpu.address(x), cpu.address(y)
            work.run(_PARTS, self._threads)


def _streams(problem: Scan, y: AnyArray) -> bool:
    """True if results outgrow the cache, and every line's vectors are on aligned boundaries.
    NumPy's arrays are aligned to 16 bytes."""
    alone = problem.lines == 1 and not problem.reverse
    neighbours = problem.count if problem.inner == 1 else problem.inner
    on_lines = alone or neighbours % (_LINE // 4) == 0
    return pays(2 * y.nbytes) and on_lines and cpu.address(y) % 16 == 0


STRATEGY = Vectors()
