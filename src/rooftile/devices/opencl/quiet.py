"""Compilers that talk of success are not heard, by any thread."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from rooftile._locks import lock


class Unheard:
    """Warnings of a kind are ignored as long as a thread is inside.

    Python's filters belong to all threads. No thread puts back the list that it found: others may
    have changed the filters meanwhile.
    """

    def __init__(self) -> None:
        self._turn, self._inside = lock(), 0

    @contextlib.contextmanager
    def __call__(self, kind: type[Warning]) -> Iterator[None]:
        filters: Any = warnings.filters
        ours = ("ignore", None, kind, None, 0)
        with self._turn:
            self._inside += 1
            if self._inside == 1:
                filters.insert(0, ours)
        try:
            yield
        finally:
            with self._turn:
                self._inside -= 1
                filters = warnings.filters
                if not self._inside and ours in filters:
                    filters.remove(ours)


unheard = Unheard()
