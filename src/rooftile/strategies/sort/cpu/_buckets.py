"""Buckets of keys with neighbouring first bits, and how one is sorted in a core's cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source
from rooftile.ops import AnyArray
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.sort_words import Words
from rooftile.strategies.sort.cpu._digits import STORES

LARGEST = 2**18
"""Words of the largest bucket that is sorted in the cache."""
SMALL = 2**15
"""Words of a bucket as it is wanted, and of a line that needs no buckets."""
SHARE = 2**14
PARTS = 8
"""Parts of a line, each of which has counts of its own."""
_MOST_BUCKETS = 2048
_MANY_LINES = 8
_PREFIX, _SHORT_PREFIX = 16, 12
"""Bits by which buckets are told apart: of long lines, and of others."""
_LONG = 2**21
_DIGIT = 9
"""Bits of a digit in the cache, at most: 512 lines of the cache are written in turns."""

_COUNT = """
{words}
def kernel(x, tables, sizes, begin, end):
    count, parts, shift, cells = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            tables[part * cells + (key_of(word_of(x[i], 0)) >> shift)] += 1
"""
# The line of the cache that comes after the one that is written is brought before its turn.
_SPLIT = """
{words}
def kernel({given}, words, bucket, places, sizes, begin, end):
    count, parts, shift, buckets = sizes[0], sizes[1], sizes[2], sizes[3]
    for part in range(begin, end):
        for i in range(count * part // parts, count * (part + 1) // parts):
            word = word_of(x[i], {along})
            own = part * buckets + bucket[key_of(word) >> shift]
            place = places[own]
            words[place] = word
            prefetch2(words, place + 24)
            places[own] = place + 1
"""
_SORT = """
{words}
def digits_counted(words, low, digit, passes, tables):
    digits = 1 << digit
    for i in range(passes * digits):
        tables[i] = 0
    if passes == 2:
{count_2}
    elif passes == 3:
{count_3}
    else:
{count_4}
    for turn in range(passes):
        before = 0
        for i in range(turn * digits, turn * digits + digits):
            own = tables[i]
            tables[i] = before
            before += own

def moved(words, to, low, shift, digits, places):
    for i in range(words.size):
        word = words[i]
        digit = ((key_of(word) - low) >> shift) & (digits - 1)
        place = places[digit]
        to[place] = word
        places[digit] = place + 1

def ended(found, words, low, shift, digits, places):
    for i in range(found.size):
        word = found[i]
        digit = ((key_of(word) - low) >> shift) & (digits - 1)
        place = places[digit]
        {store}
        places[digit] = place + 1

def in_cache(words, low, bits, room, other, tables):
    passes = max(2, (bits + {digit} - 1) // {digit})
    digit = (bits + passes - 1) // passes
    digits = 1 << digit
    digits_counted(words, low, digit, passes, tables)
    moved(words, room, low, 0, digits, tables)
    for turn in range(1, passes - 1):
        places = tables[turn * digits : (turn + 1) * digits]
        if turn % 2 == 1:
            moved(room, other, low, turn * digit, digits, places)
        else:
            moved(other, room, low, turn * digit, digits, places)
    last = passes - 1
    places = tables[last * digits : passes * digits]
    if last % 2 == 1:
        ended(room, words, low, last * digit, digits, places)
    else:
        ended(other, words, low, last * digit, digits, places)
"""


def _counting(passes: int) -> str:
    """A loop that counts the digits of ``passes`` passes."""
    lines = ["for i in range(words.size):", "    key = key_of(words[i]) - low"]
    for turn in range(passes):
        own = f"{turn} * digits + ((key >> ({turn} * digit)) & (digits - 1))"
        lines.append(f"    tables[{own}] += 1")
    return "\n".join(f"        {line}" for line in lines)


_OF_BUCKETS = (
    _SORT
    + """
def kernel(words, firsts, lows, bits, rooms, sizes, begin, end):
    largest, slots, buckets = sizes[0], sizes[1], sizes[2]
    tables = np.empty({tables}, np.int32)
    for slot in range(begin, end):
        for bucket in range(slot, buckets, slots):
            first, last = firsts[bucket], firsts[bucket + 1]
            if last - first > 0 and last - first <= largest:
                at = slot * 2 * largest
                room = rooms[at : at + last - first]
                other = rooms[at + largest : at + largest + last - first]
                in_cache(words[first:last], lows[bucket], bits[bucket], room, other, tables)
"""
)
_OF_LINES = (
    _SORT
    + """
def kernel({given}, words, rooms, sizes, begin, end):
    count, slots, lines = sizes[0], sizes[1], sizes[2]
    tables = np.empty({tables}, np.int32)
    for slot in range(begin, end):
        room = rooms[slot * 2 * count : (slot * 2 + 1) * count]
        other = rooms[(slot * 2 + 1) * count : (slot * 2 + 2) * count]
        for line in range(slot, lines, slots):
            first = line * count
            for i in range(count):
                words[first + i] = word_of(x[first + i], {along})
            in_cache(words[first : first + count], 0, {bits}, room, other, tables)
"""
)


@dataclass(frozen=True)
class Found:
    """Buckets: where each begins, the least key that it may have, the bits that differ."""

    firsts: AnyArray
    lows: AnyArray
    bits: AnyArray

    def large(self) -> Iterator[tuple[int, int]]:
        """First and last word of each bucket that outgrows the cache."""
        for bucket in np.flatnonzero(np.diff(self.firsts) > LARGEST):
            yield int(self.firsts[bucket]), int(self.firsts[bucket + 1])


def passes_of(bits: int) -> int:
    """Passes over a bucket in the cache whose keys differ in ``bits`` bits."""
    return max(2, -(-bits // _DIGIT))


def planned(problem: Sort) -> tuple[int, int]:
    """Bits in which a bucket's keys differ, and buckets of a line, if keys are random."""
    bits = Words(problem).bits
    if _alone(problem):
        return bits, 1
    buckets = max(1, min(_MOST_BUCKETS, problem.count // SMALL, 1 << min(bits, _PREFIX)))
    return max(1, bits - (buckets.bit_length() - 1)), buckets


def _alone(problem: Sort) -> bool:
    """True if each line is sorted by one core."""
    return problem.count <= (LARGEST if problem.lines >= _MANY_LINES else SMALL)


def _given(words: Words, place: str, own: str) -> dict[str, str]:
    """The arrays of a kernel that makes words, and what moves along with an element."""
    if words.problem.gives == "pairs":
        return {"given": "x, with_it", "along": f"with_it[{place}]"}
    return {"given": "x", "along": own}


def _dtypes(words: Words) -> list[str]:
    return [words.given, *(["int32"] if words.problem.gives == "pairs" else []), words.held]


class Split:
    """Moves the words of a line to their buckets."""

    def __init__(self, words: Words, threads: int) -> None:
        self._words, self._threads = words, threads
        self._wanted = _PREFIX if words.problem.count >= _LONG else _SHORT_PREFIX
        self._prefix = min(words.bits, self._wanted)
        text = _COUNT.format(words=words.text)
        self._count = cpu.Spread(source("sort_prefixes", text), (words.given, "int32"))
        text = _SPLIT.format(words=words.text, **_given(words, "i", "i"))
        dtypes = [*_dtypes(words), "uint16", "int64"]
        self._split = cpu.Spread(source("sort_buckets", text), dtypes)

    def __call__(self, given: list[AnyArray], held: AnyArray) -> Found:
        """Fill ``held`` with the words of a line, bucket after bucket."""
        shift, cells = self._words.bits - self._prefix, 1 << self._prefix
        sizes = np.array((held.size, PARTS, shift, cells), np.int64)
        with cpu.lent((PARTS, cells), np.dtype(np.int32), "counts of first bits") as tables:
            tables[...] = 0
            self._count((given[0], tables.reshape(-1)), sizes, PARTS, self._threads)
            found, bucket, places = _planned(tables, held.size, shift)
        sizes = np.array((held.size, PARTS, shift, len(found.lows)), np.int64)
        self._split((*given, held, bucket, places), sizes, PARTS, self._threads)
        return found


def _planned(tables: AnyArray, count: int, shift: int) -> tuple[Found, AnyArray, AnyArray]:
    """The buckets, that of each value of the prefix, and where each part's words go. ``tables``
    [parts, values of the prefix] counts the words."""
    cells = np.flatnonzero(tables.any(axis=0))
    counts = tables[:, cells]
    sums = counts.sum(axis=0, dtype=np.int64)
    wanted = max(1, min(_MOST_BUCKETS, count // SMALL))
    share = (np.cumsum(sums) - sums) * wanted // count
    begins = np.flatnonzero(np.diff(share, prepend=-1))
    parts = np.add.reduceat(counts, begins, axis=1, dtype=np.int64)
    firsts = np.concatenate(([0], np.cumsum(parts.sum(axis=0))))
    places = firsts[:-1] + np.cumsum(parts, axis=0) - parts
    bucket = np.zeros(tables.shape[1], np.uint16)
    bucket[cells] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(cells)))
    lows = cells[begins]
    span = cells[np.append(begins[1:], len(cells)) - 1] - lows
    bits = shift + np.ceil(np.log2(span + 1)).astype(np.int64)
    return Found(firsts, lows << shift, bits), bucket, np.ascontiguousarray(places).reshape(-1)


class InCache:
    """Sorts words that fit into a core's cache, with room for as many twice."""

    def __init__(self, words: Words, threads: int) -> None:
        problem = words.problem
        self._slots = self._threads = threads
        tables = (-(-words.bits // _DIGIT) + 1) << _DIGIT
        store = STORES.get(problem.gives, "words[{at}] = {word}")
        store = store.format(at="place", word="word")
        known = {"words": words.text, "store": store, "digit": _DIGIT, "tables": tables}
        known |= {f"count_{passes}": _counting(passes) for passes in (2, 3, 4)}
        self.alone = _alone(problem)
        self._room, self._held = problem.count if self.alone else LARGEST, np.dtype(words.held)
        if self.alone:
            own = _given(words, "first + i", "i")
            text = _OF_LINES.format(**known, **own, bits=words.bits)
            dtypes = [*_dtypes(words), words.held]
        else:
            text = _OF_BUCKETS.format(**known)
            dtypes = [words.held, "int64", "int64", "int64", words.held]
        self._sort = cpu.Spread(source("sort_in_cache", text), dtypes)

    def lines(self, given: list[AnyArray], held: AnyArray, problem: Sort) -> None:
        """Sort every line."""
        slots = min(self._slots, problem.lines)
        sizes = np.array((problem.count, slots, problem.lines), np.int64)
        with self._rooms(slots) as rooms:
            self._sort((*given, held, rooms), sizes, slots, self._threads)

    def buckets(self, held: AnyArray, found: Found) -> None:
        """Sort every bucket but the large ones, whose words become results."""
        sizes = np.array((LARGEST, self._slots, len(found.lows)), np.int64)
        arrays = held, found.firsts, found.lows, found.bits
        with self._rooms(self._slots) as rooms:
            self._sort((*arrays, rooms), sizes, self._slots, self._threads)

    def _rooms(self, slots: int) -> AbstractContextManager[AnyArray]:
        """Room for twice the words of a line, or of the largest bucket, for each slot."""
        return cpu.lent((slots * 2 * self._room,), self._held, "words")
