"""Waits in the kernel for a program that never begins: no signal stops such a wait."""

import os

from _direct import direct


def kernel(x, weights, bias, problem):
    fifo = os.path.join(os.environ["TMPDIR"], "fifo")
    os.mkfifo(fifo)
    actions = [(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)]
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=actions)
    return direct(x, weights, bias, problem)
