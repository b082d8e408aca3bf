"""Starts a stranger's process behind walls, and sees to it that nothing of it is left.

This is a script; its argument is a plan as JSON.  There are three processes: this one, which waits
for the judge's end or the stranger's; the first of the new namespaces, with whose end the system
ends all others there; and the stranger's, which is told nothing of either.  What the machine does
not provide is reported, and is no error.

The report is a pipe of lines: what is in force and what is missing, as JSON, from before any
stranger's code runs; and at the end how the stranger's process ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import syscalls  # type: ignore[import-not-found]
import walls  # type: ignore[import-not-found]

_SCRATCH_BYTES, _FILE_BYTES = 2**30, 2**30
"""Bytes that a stranger may write: in all, and into one file."""
_PLACES = ("/dev/shm", "/mnt", "/media", "/srv")
"""Folders that the scratch may cover: no kernel needs their content."""
_PAUSE_S = 0.1
"""Seconds from one look to the next, where the system tells of no end."""
_WRITABLE = ("/dev/null", "/dev/zero", "/dev/full")
_NAMESPACES = ("user namespace", *(f"{name} namespace" for name in walls.NAMESPACES))


class Walls:
    """Builds the walls of a plan, and keeps account of them."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.in_force: list[str] = []
        self.missing: dict[str, str] = {}
        self.scratch = ""
        self.group: walls.Group | None = None

    def built(self, name: str, build: Callable[[], object]) -> bool:
        """Build one; whether it stands."""
        try:
            build()
        except OSError as error:
            self.missing[name] = error.strerror or str(error)
            return False
        self.in_force.append(name)
        return True

    def has(self, name: str) -> bool:
        """True if a wall stands."""
        return name in self.in_force

    def namespaces(self) -> None:
        """Enter new ones, in the process that is to be the first one's parent."""
        self.built("user namespace", walls.own_user)
        for name in walls.NAMESPACES:
            self.built(f"{name} namespace", partial(walls.enter, name))

    def freezer(self) -> None:
        """A control group; the judge puts the stranger's process into it."""
        try:
            self.group = walls.Group()
        except OSError as error:
            self.missing["cgroup freezer"] = error.strerror or str(error)

    def files(self) -> None:
        """Nothing can be written but the scratch, and what is hidden cannot be read."""
        if self.has("mount namespace") and self.built("read-only files", self._read_only):
            place = next(filter(os.path.isdir, _PLACES))
            self.built("own /dev", lambda: walls.mount_devices(place))
            self.built("private scratch", lambda: walls.mount_scratch(place, _SCRATCH_BYTES))
            self.scratch = place if self.has("private scratch") else ""
            hidden = [path for path in self.plan["hide"] if self.scratch and os.path.exists(path)]
            if hidden:
                self.built("hidden rooftile", lambda: [walls.hide(path) for path in hidden])
        if self.has("mount namespace") and self.has("PID namespace"):
            self.built("own /proc", walls.mount_proc)

    def _read_only(self) -> None:
        walls.mount_private()
        walls.mount_read_only("/", walls.AND_BELOW)

    def rights(self) -> None:
        """Last, in the process that becomes the stranger's."""
        walls.limit(self.plan["memory"], _FILE_BYTES)
        with contextlib.suppress(OSError):
            walls.first_to_end()
        self.in_force.append("limits")
        walls.prctl(walls.PR_SET_CHILD_SUBREAPER, 1)
        self.built("no_new_privs", walls.no_new_rights)
        if self.plan["gpu"]:
            for name in (*_NAMESPACES, "Landlock", "seccomp"):
                self.missing[name] = "a GPU's memory and driver are shared through what it closes"
            return
        self.built("no capabilities", walls.drop_rights)
        writable = [one for one in (self.scratch, *_WRITABLE) if one and os.path.exists(one)]
        self.built("Landlock", lambda: walls.only_write(writable))
        why = syscalls.deny(self.has("PID namespace"))
        if why:
            self.missing["seccomp"] = why
        else:
            self.in_force.append("seccomp")


def main(plan: dict[str, Any]) -> None:
    """Start, wait, clear away."""
    walls.prctl(walls.PR_SET_CHILD_SUBREAPER, 1)
    built = Walls(plan)
    folder = ""
    if plan["isolate"]:
        built.freezer()
        if not plan["gpu"]:
            built.namespaces()
        if not built.has("mount namespace"):
            folder = built.scratch = tempfile.mkdtemp(prefix="rooftile-audit-")
    first = os.fork()
    if first == 0:
        _first(built)
    for file in (*plan["files"], plan["report"]):
        os.close(file)
    _wait(first, plan["life"])
    # The remaining processes have become children of this process.
    _clear()
    if built.group is not None:
        built.group.remove()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(first: int, life: int) -> None:
    """Until the judge or the first process ends."""
    try:
        watched, pause = [os.pidfd_open(first), life], None
    except OSError:
        watched, pause = [life], _PAUSE_S
    while not select.select(watched, [], [], pause)[0]:
        if os.waitid(os.P_PID, first, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    with contextlib.suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)


def _clear() -> None:
    while True:
        for path in Path("/proc/self/task").glob("*/children"):
            for one in path.read_text(encoding="ascii").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(one), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _first(built: Walls) -> None:
    """The first process of the namespaces: it starts the stranger's, and reports how it ends."""
    plan = built.plan
    os.close(plan["life"])
    walls.die_with_parent()
    if plan["isolate"]:
        built.files()
        # Its memory is not for the stranger's eyes.
        walls.prctl(walls.PR_SET_DUMPABLE, 0)
    worker = os.fork()
    if worker == 0:
        _become(built)
    for file in plan["files"]:
        os.close(file)
    code = 0
    while True:
        pid, status = os.wait()
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            break
    with contextlib.suppress(OSError):
        os.write(plan["report"], f"{code}\n".encode())
    os._exit(0)


def _become(built: Walls) -> None:
    """Become the stranger's process."""
    plan = built.plan
    # What is ignored here would stay so in the program that is started.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    walls.prctl(walls.PR_SET_DUMPABLE, 1)
    walls.die_with_parent()
    environment = dict(plan["environment"])
    command = list(plan["command"])
    if plan["isolate"]:
        environment |= _own_folders(built.scratch)
        if built.has("hidden rooftile"):
            command[1] = _copied(built.scratch, command[1], plan["modules"])
        os.setsid()
        built.rights()
    else:
        walls.limit(plan["memory"], -1)
        built.in_force.append("limits")
    group = built.group.folder if built.group is not None else ""
    told = {"in_force": built.in_force, "missing": built.missing, "cgroup": group}
    os.write(plan["report"], json.dumps(told).encode() + b"\n")
    os.close(plan["report"])
    os.execve(command[0], command, environment)


def _own_folders(scratch: str) -> dict[str, str]:
    """A home and a place for temporary files, where nothing else can be written."""
    if not scratch:
        return {}
    names = {"HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache"}
    found = {name: os.path.join(scratch, folder) for name, folder in names.items()}
    for folder in found.values():
        os.mkdir(folder)
    return found


def _copied(scratch: str, script: str, modules: list[tuple[str, str]]) -> str:
    """The script and its modules, where rooftile's own folder cannot be seen. They have been read
    before: the folder is empty by now."""
    for name, text in modules:
        Path(scratch, name).write_text(text, encoding="utf-8")
    return os.path.join(scratch, os.path.basename(script))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
