"""Locks that are free in a forked child, also where a thread of its parent held them.

A thread that holds a lock when another one forks does not exist in the child, and nobody would ever
give the lock back. The guarded value is either checked anew by the next holder, or not needed.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Any] = WeakSet()


def lock() -> threading.Lock:
    """A new one."""
    made = threading.Lock()
    _locks.add(made)
    return made


def recursive_lock() -> Any:
    """A new lock (`threading.RLock`) that the thread that holds it may take again."""
    made = threading.RLock()
    _locks.add(made)
    return made


def _free() -> None:
    for held in _locks:
        # As `logging` and `threading` themselves do.
        held._at_fork_reinit()


os.register_at_fork(after_in_child=_free)
