"""Requests of the judge to a process, and its answers: two pages of shared memory and two pipes.

A request is written into one page, and one byte on a pipe says that it is there; the answer is
written into the other, and one byte says so.  An answer has a fixed binary form and a greatest
length, for it may come from an enemy.  Both sides use this module; a stranger's process has no
rooftile, so nothing of it is imported here.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BYTES = 2**20
"""Bytes of the shared memory; all behind the answer is the request's."""
_ANSWER = 8192
"""Bytes of the answer's page."""
_HEAD = struct.Struct("<BxHI")
"""An answer's kind, the count of its numbers, the bytes of its text."""
_NUMBERS, _TEXT = 32, 512
_MOST_NUMBERS, _MOST_TEXT = (_TEXT - _NUMBERS) // 8, 2000
_LENGTH = struct.Struct("<I")

KINDS = ("", "done", "form", "lazy", "refuses", "raised", "exit", "usage")
"""Kinds of answers: nothing, where a byte came before it; done; a result of the wrong form, or one
that is a promise; an error of the kernel's; a wrong use."""
ERRORS = ("refuses", "raised", "exit", "usage")


@dataclass(frozen=True)
class Answer:
    """A process's answer; its text is not to be believed, and not to be shown as it is."""

    kind: str
    text: str = ""
    numbers: tuple[float, ...] = ()


def put_request(memory: mmap.mmap, request: dict[str, Any]) -> None:
    """Write a request, and forget the answer before."""
    told = json.dumps(request).encode()
    assert len(told) <= BYTES - _ANSWER - _LENGTH.size, "a request of the judge's own is small"
    memory[:_ANSWER] = bytes(_ANSWER)
    memory[_ANSWER : _ANSWER + _LENGTH.size + len(told)] = _LENGTH.pack(len(told)) + told


def take_answer(memory: mmap.mmap) -> Answer:
    """The answer. Raises `ValueError` for anything else."""
    kind, count, length = _HEAD.unpack_from(memory)
    if kind >= len(KINDS) or count > _MOST_NUMBERS or length > _MOST_TEXT:
        raise ValueError("no answer")
    numbers = struct.unpack_from(f"<{count}d", memory, _NUMBERS)
    text = memory[_TEXT : _TEXT + length].decode("utf-8", "backslashreplace")
    return Answer(KINDS[kind], text, numbers)


class Channel:
    """The side of the process that is asked."""

    def __init__(self, memory: int, go: int, done: int) -> None:
        self._memory, self._go, self._done = mmap.mmap(memory, BYTES), go, done

    def requests(self) -> Iterator[dict[str, Any]]:
        """The requests, until the judge closes the pipe."""
        while os.read(self._go, 1):
            (length,) = _LENGTH.unpack_from(self._memory, _ANSWER)
            start = _ANSWER + _LENGTH.size
            yield json.loads(self._memory[start : start + length])

    def answer(self, kind: str, text: str = "", numbers: tuple[float | None, ...] = ()) -> None:
        """Answer what was asked; None stands for a number that is not known."""
        told = text.encode("utf-8", "backslashreplace")[:_MOST_TEXT]
        known = [math.nan if one is None else float(one) for one in numbers]
        struct.pack_into(f"<{len(known)}d", self._memory, _NUMBERS, *known)
        self._memory[_TEXT : _TEXT + len(told)] = told
        _HEAD.pack_into(self._memory, 0, KINDS.index(kind), len(known), len(told))
        os.write(self._done, b".")
