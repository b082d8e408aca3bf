"""Threads that run kernels together: a team for each number of threads.

A team's members wait for work in compiled code, without the GIL: for about a millisecond they look
again and again, then they sleep. The caller claims shares like the others and waits for none that
sleeps, so that a small kernel takes no longer than alone. One caller at a time has a team; a caller
that finds it busy works alone. A forked child has none of its parent's threads and makes teams of
its own.
"""

from __future__ import annotations

import _thread
import ctypes
import hashlib
import os
from pathlib import Path

from rooftile._locks import lock
from rooftile.devices.cpu.memory import free_bytes
from rooftile.devices.cpu.method import address_of, machine
from rooftile.devices.cpu.native import build
from rooftile.devices.first_use import once
from rooftile.errors import OutOfMemory

_BYTES, BUSY_AT = 1024, 208
"""Bytes of a team's state in ``team.c``, and the offset of its flag that a caller has the team."""
SHARES = 4
"""Shares of a kernel for each thread: one that comes late, or whose core another program uses,
takes fewer."""
_PATIENCE = 20_000
"""Number of looks for work before a member sleeps: about a millisecond. Waking one takes as long on
a virtual machine, and calls from Python are microseconds apart."""
_PAUSES = {"x86_64": "@llvm.x86.sse2.pause()", "aarch64": "@llvm.aarch64.hint(i32 1)"}
"""LLVM's words for ``pause_core`` of ``team.c``."""


class CoresStruct(ctypes.Structure):
    """``struct cores`` of ``team.h``: functions of the C library, null where it has none."""

    _fields_ = (
        ("current", ctypes.c_void_p),
        ("get_allowed", ctypes.c_void_p),
        ("set_allowed", ctypes.c_void_p),
    )


class _Code:
    """The functions of ``team.c``."""

    def __init__(self) -> None:
        text = team_text()
        digest = hashlib.sha256(text.encode()).hexdigest()
        names = ("alone", "spread", "work", "prepare")
        alone, spread, work, prepare = build.addresses("team", digest, lambda: text, names)
        word = ctypes.c_int64
        self.alone = ctypes.CFUNCTYPE(None, word, word, word)(alone)
        self.spread = ctypes.CFUNCTYPE(None, word, word, word, word, word)(spread)
        self.places = alone, spread
        """The addresses of both."""
        self.work = ctypes.CFUNCTYPE(None, word, word, word)(work)
        self.prepare = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(CoresStruct))(prepare)


def team_text() -> str:
    """The text of ``team.c``, and of the processor's instruction for a thread that waits."""
    text = Path(__file__).with_suffix(".ll").read_text("utf-8")
    pause = _PAUSES.get(machine())
    call = f"call void {pause}" if pause else ""
    text = text.replace("declare void @pause_core()\n", "")
    text += f"\ndefine internal void @pause_core() {{\n{call}\nret void\n}}\n"
    return text + (f"declare void {pause.replace(' 1', '')}\n" if pause else "")


@once
def code() -> _Code:
    """The compiled functions."""
    return _Code()


class Team:
    """A thread pool of ``threads`` threads, the caller among them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.place = _new_state()
        self._state = ctypes.c_int64(self.place)
        self._shares = ctypes.c_int64(SHARES * threads)
        for thread in range(1, threads):
            arguments = (self.place, thread, _PATIENCE)
            # One of `threading` would be waited for until it runs.
            _thread.start_new_thread(code().work, arguments)

    def run(self, table: ctypes.c_int64, rows: ctypes.c_int64, width: ctypes.c_int64) -> None:
        """Do all units of the kernels of a table; alone where the team is busy."""
        code().spread(self._state, table, rows, width, self._shares)


def _new_state() -> int:
    """The address of a team's state, in memory that outlives the interpreter, as its threads do."""
    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype = ctypes.c_void_p
    libc.aligned_alloc.argtypes = [ctypes.c_size_t] * 2
    place = libc.aligned_alloc(64, _BYTES)
    if not place:
        raise OutOfMemory(_BYTES, free_bytes(), "a team of threads")
    ctypes.memset(place, 0, _BYTES)
    names = ("sched_getcpu", "sched_getaffinity", "sched_setaffinity")
    found = [address_of(getattr(libc, name)) for name in names if hasattr(libc, name)]
    cores = CoresStruct(*found) if len(found) == len(names) else CoresStruct()
    code().prepare(place, ctypes.byref(cores))
    return int(place)


_teams: dict[int, Team] = {}
_places: dict[int, ctypes.c_int64] = {}
_making = lock()


def team(threads: int) -> Team:
    """The team of ``threads`` threads."""
    found = _teams.get(threads)
    if found is None:
        with _making:
            found = _teams.get(threads) or Team(threads)
            _teams[threads] = found
            place_of(threads).value = found.place
    return found


def place_of(threads: int) -> ctypes.c_int64:
    """The word that holds the address of the state of a team of ``threads`` threads; 0 while there
    is none."""
    return _places.setdefault(threads, ctypes.c_int64())


def _forget() -> None:
    """A child that was forked begins without teams."""
    _teams.clear()
    for place in _places.values():
        place.value = 0


os.register_at_fork(after_in_child=_forget)
