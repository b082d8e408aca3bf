"""NumPy's matrix product on threads of our own, for the references and the strategies on BLAS.

Our workers spin for a while after their work, and BLAS's too: where the two take turns, or several
processes share the cores, each finds them taken by the other's. So BLAS runs serially here, on as
many Python threads as there are cores, and compiled code runs on those same threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rooftile._locks import recursive_lock

turn = recursive_lock()
"""Held while BLAS is serial: the number of its threads is one for the whole process."""


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@cache
def threads() -> int:
    """Number of BLAS's own threads: its setting, which follows the process's affinity."""
    with turn:
        return max((pool["num_threads"] for pool in _pools().info()), default=1)


def share_out(work: Callable[[int], None], workers: int) -> None:
    """Call ``work(0)`` to ``work(workers - 1)`` at once, each on a thread, with BLAS serial.

    Returns when all have; raises the first error.
    """
    errors: list[BaseException] = []

    def guarded(worker: int) -> None:
        try:
            work(worker)
        except BaseException as error:
            errors.append(error)

    with turn, _pools().limit(limits=1):
        others = [threading.Thread(target=guarded, args=(w,)) for w in range(1, workers)]
        for thread in others:
            thread.start()
        guarded(0)
        for thread in others:
            thread.join()
    if errors:
        raise errors[0]


def multiply(a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> None:
    """``out = a @ b`` without a temporary."""
    # Infinities and NaN in the input are results, not accidents.
    with np.errstate(all="ignore"):
        np.matmul(a, b, out=out)
