"""Words sorted by their digits of 8 bits, the least significant first, by all cores.

For each digit: parts of a line count how often each digit occurs, all counts of a line are scanned,
digit after digit and part after part, and each part moves its words to where the scan says.  A
digit that all words of all lines share moves nothing.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rooftile.devices import cpu
from rooftile.devices.cpu.native import Native, source
from rooftile.ops import AnyArray
from rooftile.ops.patterns.sort import Sort
from rooftile.strategies.common.sort_words import Words

DIGITS = 256
DIGIT_BITS = 8
_PARTS = 16
_PART = 2**14
"""Words of a part, at least."""

_COUNT = """
def kernel(words, tables, sizes, begin, end):
    count, parts, shift = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        line, part = unit // parts, unit % parts
        for digit in range(256):
            tables[unit * 256 + digit] = 0
        first = line * count
        for i in range(first + count * part // parts, first + count * (part + 1) // parts):
            tables[unit * 256 + ((words[i] >> shift) & 255)] += 1
"""
# The line of the cache that comes after the one that is written is brought before its turn.
_MOVE = """
def kernel(words, moved, places, sizes, begin, end):
    count, parts, shift = sizes[0], sizes[1], sizes[2]
    for unit in range(begin, end):
        line, part = unit // parts, unit % parts
        first = line * count
        for i in range(first + count * part // parts, first + count * (part + 1) // parts):
            word = words[i]
            digit = unit * 256 + ((word >> shift) & 255)
            place = places[digit]
            moved[place] = word
            prefetch2(moved, place + 24)
            places[digit] = place + 1
"""
_BEGIN = """
{words}
def kernel({given}, words, sizes, begin, end):
    for i in range(begin * sizes[1], min(end * sizes[1], sizes[0])):
        words[i] = word_of({element}, {along})
"""
_END = """
{words}
def kernel(words, {made}sizes, begin, end):
    for i in range(begin * sizes[1], min(end * sizes[1], sizes[0])):
        {store}
"""
STORES = {
    "values": "words[{at}] = value_of(key_of({word}))",
    "places": "words[{at}] = {word} & 4294967295",
}
"""Texts that turn a word into a result in place."""


@cache
def _count() -> Native:
    return source("sort_count", _COUNT)


@cache
def _move() -> Native:
    return source("sort_move", _MOVE)


def begin_kernel(words: Words) -> cpu.Spread:
    """Elements, and what moves along, to words."""
    pairs = words.problem.gives == "pairs"
    text = _BEGIN.format(
        words=words.text,
        given="x, with_it" if pairs else "x",
        element="x[i]",
        along="with_it[i]" if pairs else "i % sizes[2]",
    )
    dtypes = [words.given, *(["int32"] if pairs else []), words.held]
    return cpu.Spread(source("sort_begin", text), dtypes)


def end_kernel(words: Words) -> cpu.Spread:
    """Sorted words to values or places where they lie, or to both of a pair."""
    if words.problem.gives == "pairs":
        store = "word = words[i]\n        y[i] = value_of(key_of(word))\n        moved[i] = word"
        text = _END.format(words=words.text, made="y, moved, ", store=store)
        return cpu.Spread(source("sort_end", text), [words.held, words.given, "int32"])
    store = STORES[words.problem.gives].format(at="i", word="words[i]")
    text = _END.format(words=words.text, made="", store=store)
    return cpu.Spread(source("sort_end", text), [words.held])


class Digits:
    """Lines of words, sorted in place with room for as many words."""

    def __init__(self, words: Words, threads: int) -> None:
        self._words, self._threads = words, threads
        self._counting = cpu.Spread(_count(), (words.held, "int64"))
        self._moving = cpu.Spread(_move(), (words.held, words.held, "int64"))

    def __call__(self, words: AnyArray, room: AnyArray, lines: int) -> None:
        """Sort words[lines * count]; ``room`` is as large."""
        count = words.size // lines
        parts = parts_of(count, lines)
        here, there = words, room
        for low in range(0, self._words.bits, DIGIT_BITS):
            sizes = np.array((count, parts, self._words.shift + low), np.int64)
            tables = np.empty((lines, parts, DIGITS), np.int64)
            units = lines * parts
            self._counting((here, tables.reshape(-1)), sizes, units, self._threads)
            if (tables.sum(axis=1).max(axis=1) == count).all():
                continue
            places = scanned(tables, count)
            self._moving((here, there, places), sizes, units, self._threads)
            here, there = there, here
        if here is not words:
            words[:] = here


def parts_of(count: int, lines: int) -> int:
    """Parts of a line, which follow from the problem alone."""
    return max(1, min(_PARTS // min(lines, _PARTS), count // _PART))


def scanned(tables: AnyArray, count: int) -> AnyArray:
    """The index of the first word of each digit of each part: digits first, then parts."""
    lines, parts, digits = tables.shape
    by_digit = tables.swapaxes(1, 2).reshape(lines, -1)
    before = np.cumsum(by_digit, axis=1) - by_digit
    before += np.arange(lines)[:, None] * count
    return np.ascontiguousarray(before.reshape(lines, digits, parts).swapaxes(1, 2)).reshape(-1)


def problem_takes(problem: Sort) -> str | None:
    """Why words do not hold a problem's keys; None where they do."""
    if problem.gives != "values" and problem.key_bytes > 4:
        return f"{problem.dtype}: a key and what moves along must fit into 64 bits"
    return None
