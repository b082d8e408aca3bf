"""Compilers that talk of success are not heard, by any thread."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from rooftile._locks import lock


class Unheard:
    """Warnings of a kind are ignored as long as a thread is inside.

    Python's filters are those of all threads: where each put back what it found, the first to leave
    would let the others' warnings through, and the last would leave the filter behind.
    """

    def __init__(self) -> None:
        self._turn, self._inside, self._filters = lock(), 0, contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self, kind: type[Warning]) -> Iterator[None]:
        with self._turn:
            self._inside += 1
            if self._inside == 1:
                self._filters.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", kind)
        try:
            yield
        finally:
            with self._turn:
                self._inside -= 1
                if not self._inside:
                    self._filters.close()


unheard = Unheard()
