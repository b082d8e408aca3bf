"""The system's means to isolate a process: namespaces, mounts, rights, Landlock.

Each function does one thing to the calling process, and raises `OSError` where the system does not
allow it. Nothing of rooftile is imported here: this runs before a stranger's code, in its process.
Sources: the manual pages namespaces(7), user_namespaces(7), mount_namespaces(7), capabilities(7)
and landlock(7).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import struct
import time
from collections.abc import Sequence
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
NAMESPACES = {
    "PID": _NEWPID,
    "mount": _NEWNS,
    "network": _NEWNET,
    "IPC": _NEWIPC,
}
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR, _AT_FDCWD, AND_BELOW = 442, -100, 0x8000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
# Rights of Landlock by its version: to write, remove and make files; to link and to cut them.
_WRITES = {1: 0x1FF2, 2: 0x2000, 3: 0x4000}
_WRITE_FILE = 0x2
_CONNECT_AND_BIND, _SIGNALS_AND_SOCKETS = 3, 3
PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE = 36, 4
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CAPABILITIES = 0x20080522
_LAST_CAPABILITY = 63


def prctl(option: int, value: int) -> None:
    """Change a property of this process."""
    _check(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def die_with_parent() -> None:
    """This process is killed when its parent ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def own_user() -> None:
    """Enter a user namespace in which this user has the same number, and nobody else is known."""
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(_NEWUSER))
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def enter(namespace: str) -> None:
    """Enter a new namespace of `NAMESPACES`; one for PIDs begins with the next child."""
    _check(_libc.unshare(NAMESPACES[namespace]))


def mount_private() -> None:
    """No mount made here is seen elsewhere."""
    _mount(None, "/", None, _REC | _PRIVATE)


def mount_read_only(path: str, extent: int = 0) -> None:
    """Make a file system read-only; ``extent`` may be `AND_BELOW`."""
    attributes = struct.pack("<QQQQ", _RDONLY | _NOSUID, 0, 0, 0)
    _check(
        _libc.syscall(
            _MOUNT_SETATTR, _AT_FDCWD, path.encode(), extent, attributes, ctypes.c_size_t(32)
        )
    )


def mount_devices(place: str) -> None:
    """A ``/dev`` of the few devices that only give and take bytes: no terminal, and no disk.

    It is built over a folder first.
    """
    _mount("tmpfs", place, "tmpfs", _NOSUID, "size=64k,mode=0755")
    for name in ("null", "zero", "full", "random", "urandom"):
        path = os.path.join(place, name)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(f"/dev/{name}", path, None, _BIND)
    os.mkdir(os.path.join(place, "shm"))
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", os.path.join(place, name))
    _mount(place, "/dev", None, _BIND | _REC)
    mount_read_only("/dev")


def mount_scratch(folder: str, nbytes: int) -> None:
    """An empty file system of at most ``nbytes`` over a folder."""
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, f"size={nbytes},mode=0700")


def mount_proc() -> None:
    """A ``/proc`` that shows the processes of this namespace alone."""
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def hide(path: str) -> None:
    """Put something empty over a folder or a file."""
    if os.path.isdir(path):
        _mount("tmpfs", path, "tmpfs", _RDONLY | _NOSUID | _NODEV, "size=4k,mode=0555")
    else:
        _mount("/dev/null", path, None, _BIND)


def drop_rights() -> None:
    """Give up every capability, for good."""
    for number in range(_LAST_CAPABILITY):
        # Numbers beyond the kernel's last one are an error, and nothing to give up.
        _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = struct.pack("<Ii", _CAPABILITIES, 0)
    _check(_libc.capset(header, bytes(24)))


def no_new_rights() -> None:
    """No program that is started has more rights than this process."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def only_write(folders: Sequence[str]) -> None:
    """By Landlock: write below these folders alone, use no TCP, reach no process outside."""
    version = _libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    _check(min(version, 0))
    writes = sum(rights for since, rights in _WRITES.items() if version >= since)
    network = _CONNECT_AND_BIND if version >= 4 else 0
    scope = _SIGNALS_AND_SOCKETS if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = struct.pack("<QQQ", writes, network, scope)[:size]
    ruleset = _check(_libc.syscall(_LANDLOCK_CREATE, rules, ctypes.c_size_t(size), 0))
    for folder in folders:
        file = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        allowed = writes if os.path.isdir(folder) else writes & _WRITE_FILE
        rule = struct.pack("<Qi", allowed, file)
        _check(_libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0))
        os.close(file)
    _check(_libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)


def limit(memory: int, file: int) -> None:
    """Leave no core; private memory and each file have at most these bytes (0: any number)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file, file))


def first_to_end() -> None:
    """Let this process be the first to be ended where the machine's memory runs out."""
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


class Group:
    """A new control group of version 2, below this process's own."""

    def __init__(self) -> None:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        places = [words[1] for line in mounts if (words := line.split())[2] == "cgroup2"]
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        own = [line.removeprefix("0::/") for line in groups if line.startswith("0::/")]
        if not places or not own:
            raise OSError(errno.ENOENT, "there are no control groups of version 2")
        above, self._name = os.path.join(places[0], own[0]), f"rooftile-audit-{os.getpid()}"
        # It is removed through this file: by its path it will be read-only.
        self._above = os.open(above, os.O_PATH | os.O_CLOEXEC)
        self.folder = os.path.join(above, self._name)
        os.mkdir(self._name, dir_fd=self._above)
        if not os.path.exists(os.path.join(self.folder, "cgroup.freeze")):
            self.remove()
            raise OSError(errno.ENOSYS, "control groups cannot freeze here")

    def remove(self) -> None:
        """Remove it once its processes have ended; the system takes a moment to notice."""
        for _ in range(1000):
            try:
                os.rmdir(self._name, dir_fd=self._above)
            except OSError:
                time.sleep(1e-3)
            else:
                break
        os.close(self._above)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = (None if one is None else one.encode() for one in (source, target, kind))
    given = None if options is None else options.encode()
    _check(_libc.mount(*words, ctypes.c_ulong(flags), given))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
