"""Locks that others hold while a process forks are free in the child."""

from __future__ import annotations

import os
import threading

import numpy as np

import rooftile
from rooftile import _blas, _locks


def _forked(holding, do) -> int:
    """The status of a child that does something, forked while another thread holds a lock."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with holding:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if do() else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    return status


def test_a_childs_locks_are_free():
    turn = _locks.lock()
    assert _forked(turn, lambda: turn.acquire(timeout=5)) == 0
    # An ordinary one stays taken, for ever.
    other = threading.Lock()
    assert _forked(other, lambda: not other.acquire(timeout=0.01)) == 0


def test_a_child_multiplies_while_another_thread_was_multiplying():
    # Not by a thread of its own, which may be given the number of the thread that had the lock.
    assert _forked(_blas.turn, lambda: _blas.turn.acquire(timeout=2)) == 0


def test_a_child_calls_what_another_thread_was_calling():
    linear = rooftile.Linear(np.ones((3, 4), np.float32))
    x, expected = np.ones((2, 4), np.float32), np.full((2, 3), 4, np.float32)
    linear(x)

    def called() -> bool:
        answers: list[bool] = []
        call = threading.Thread(
            target=lambda: answers.append(np.array_equal(linear(x), expected)), daemon=True
        )
        call.start()
        call.join(5)
        return answers == [True]

    assert _forked(linear._kept._turn, called) == 0
