"""A filter of system calls, as seccomp takes it: what a kernel may not ask of the system.

It is a list of denials: a process that computes needs none of them.  They let a process look
into others, make itself new rooms, talk to the network, or have itself woken from a stop by a
timer or a file.  Source: Linux, ``Documentation/userspace-api/seccomp_filter.rst``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct

_NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "accept": 43, "accept4": 288, "acct": 163, "add_key": 248, "bind": 49, "bpf": 321,
        "chroot": 161, "clone": 56, "clone3": 435, "connect": 42, "delete_module": 176,
        "fanotify_init": 300, "fcntl": 72, "finit_module": 313, "init_module": 175,
        "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425, "ioctl": 16,
        "kcmp": 312, "kexec_load": 246, "keyctl": 250, "kill": 62, "listen": 50, "mount": 165,
        "mount_setattr": 442, "move_mount": 429, "mq_notify": 244, "open_by_handle_at": 304,
        "open_tree": 428, "perf_event_open": 298, "personality": 135, "pidfd_getfd": 438,
        "pidfd_open": 434, "pidfd_send_signal": 424, "pivot_root": 155, "prctl": 157,
        "process_madvise": 440, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101,
        "quotactl": 179, "reboot": 169, "request_key": 249, "rt_sigqueueinfo": 129,
        "rt_sigaction": 13, "rt_tgsigqueueinfo": 297, "setns": 308, "socket": 41, "swapoff": 168,
        "swapon": 167, "tgkill": 234, "timer_create": 222, "tkill": 200, "umount2": 166,
        "unshare": 272, "userfaultfd": 323,
    },
    "aarch64": {
        "accept": 202, "accept4": 242, "acct": 89, "add_key": 217, "bind": 200, "bpf": 280,
        "chroot": 51, "clone": 220, "clone3": 435, "connect": 203, "delete_module": 106,
        "fanotify_init": 262, "fcntl": 25, "finit_module": 273, "init_module": 105,
        "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425, "ioctl": 29,
        "kcmp": 272, "kexec_load": 104, "keyctl": 219, "kill": 129, "listen": 201, "mount": 40,
        "mount_setattr": 442, "move_mount": 429, "mq_notify": 184, "open_by_handle_at": 265,
        "open_tree": 428, "perf_event_open": 241, "personality": 92, "pidfd_getfd": 438,
        "pidfd_open": 434, "pidfd_send_signal": 424, "pivot_root": 41, "prctl": 167,
        "process_madvise": 440, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117,
        "quotactl": 60, "reboot": 142, "request_key": 218, "rt_sigqueueinfo": 138,
        "rt_sigaction": 134, "rt_tgsigqueueinfo": 240, "setns": 268, "socket": 198, "swapoff": 225,
        "swapon": 224, "tgkill": 131, "timer_create": 107, "tkill": 130, "umount2": 39,
        "unshare": 97, "userfaultfd": 282,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
"""Offsets of a call's number, the architecture, and the first three arguments in the filter's
data."""
_SIGNALS = {
    "kill": _SECOND, "tgkill": _THIRD, "rt_sigqueueinfo": _SECOND, "rt_tgsigqueueinfo": _THIRD,
}  # fmt: skip
"""The argument with the signal of each call; ``tkill``, which nothing uses, is denied. One process
must not wake another from a stop. Processes without a namespace of their own must not reach others
at all."""
_NEW_ROOMS, _SIBLING = 0x7E020000, 0x00008000
"""Flags of ``clone`` that make namespaces, and the one that makes a process which is no child of
its maker, so that a search for its children does not find it."""
_END_SIGNAL = 0xFF
"""The bits of those flags that say which signal the end of the new process sends."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KEEP_BITS = 0x54
_ALLOW, _NOTHING = 0x7FFF0000, 0x00050000
_DENY, _ABSENT = _NOTHING | errno.EPERM, _NOTHING | errno.ENOSYS
_DENIED_VALUES = {
    # F_SETOWN, F_SETSIG, F_SETOWN_EX: a file would wake a process that is stopped.
    "fcntl": (_SECOND, (8, 10, 15), _DENY),
    # PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_PTRACER.
    "prctl": (_FIRST, (1, 4, 36, 0x59616D61), _DENY),
    # TIOCSTI types into the judge's terminal.
    "ioctl": (_SECOND, (0x5412,), _DENY),
    # Who ignores its children's ends leaves no trace of their work.  Compilers' drivers set it
    # too, and take an error for the end of the world.
    "rt_sigaction": (_FIRST, (int(signal.SIGCHLD),), _NOTHING),
}
"""Calls of which some are denied, by the argument that says what is asked, with what is answered
instead."""
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_X32 = 0x40000000

_Instruction = tuple[int, int, int, int]


def deny(own_namespace: bool) -> str:
    """Filter this process's system calls from now on; why it cannot be done, empty if it is.

    ``own_namespace``: whether this process sees no others, and so may send signals.
    """
    machine = platform.machine()
    if machine not in _NUMBERS:
        return f"no list of system calls for {machine}"
    program = b"".join(struct.pack("<HBBI", *one) for one in _program(machine, own_namespace))
    filter_ = ctypes.create_string_buffer(program)
    header = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(filter_))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(header), 0, 0):
        return os.strerror(ctypes.get_errno())
    return ""


def _program(machine: str, own_namespace: bool) -> list[_Instruction]:
    numbers = dict(_NUMBERS[machine])
    made: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        made += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _DENY)]
    ours = [(_EQUAL, os.getpid()), (_EQUAL, 0)]
    for name, told in _SIGNALS.items():
        reached: list[_Instruction] = [(_RETURN, 0, 0, _ALLOW)]
        if not own_namespace:
            # Itself, and the group that it leads.
            reached = [(_LOAD, 0, 0, _FIRST), *_tests(ours, _ALLOW), (_RETURN, 0, 0, _DENY)]
        wakes = _tests([(_EQUAL, int(signal.SIGCONT))], _DENY)
        made += _of(numbers.pop(name), [(_LOAD, 0, 0, told), *wakes, *reached])
    for name, (argument, values, instead) in _DENIED_VALUES.items():
        tests = _tests([(_EQUAL, value) for value in values], instead)
        body = [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, _ALLOW)]
        made += _of(numbers.pop(name), body)
    ends = _tests([(_EQUAL, 0), (_EQUAL, int(signal.SIGCHLD))], _ALLOW)
    rooms = [(_LOAD, 0, 0, _FIRST), *_tests([(_ANY_BIT, _NEW_ROOMS | _SIBLING)], _DENY)]
    # Another signal than the usual one at its end could wake its parent.
    usual = [(_KEEP_BITS, 0, 0, _END_SIGNAL), *ends, (_RETURN, 0, 0, _DENY)]
    made += _of(numbers.pop("clone"), [*rooms, *usual])
    # Its flags lie in memory, where no filter sees them; the C library falls back to `clone`.
    made += [(_EQUAL, 0, 1, numbers.pop("clone3")), (_RETURN, 0, 0, _ABSENT)]
    for number in numbers.values():
        made += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _DENY)]
    return [*made, (_RETURN, 0, 0, _ALLOW)]


def _of(number: int, body: list[_Instruction]) -> list[_Instruction]:
    """The filter of one call; the body ends with a verdict."""
    return [(_EQUAL, 0, len(body), number), *body]


def _tests(tests: list[tuple[int, int]], then: int) -> list[_Instruction]:
    """``then`` where what was loaded passes one of the tests."""
    return [one for code, value in tests for one in ((code, 0, 1, value), (_RETURN, 0, 0, then))]
