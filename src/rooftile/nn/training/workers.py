"""Shares of a batch over a few threads; the result never depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from rooftile.devices import cpu

SHARES = 8
"""How many parts a batch is cut into, whatever the number of threads: sums over the batch
are made by part and then over the parts, so that rounding is the same on every machine."""


class Workers:
    """A pool of threads for kernels that release the interpreter's lock.

    Plain threads: unlike Numba's own layer they may be used from several Python threads
    and after a fork.  Use as a context manager, which ends the threads.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = min(SHARES, cpu.cores() if threads is None else threads)
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each_share(self, count: int, work: Callable[[int, int, int], None]) -> None:
        """Call ``work(share, begin, end)`` for each part of ``range(count)``."""
        bounds = [count * share // SHARES for share in range(SHARES + 1)]
        calls = zip(range(SHARES), bounds[:-1], bounds[1:], strict=True)
        busy = [call for call in calls if call[1] < call[2]]
        if self._pool is None:
            for call in busy:
                work(*call)
        else:
            list(self._pool.map(lambda call: work(*call), busy))
