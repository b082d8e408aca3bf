"""Writes one element behind its output."""

import ctypes

from _direct import direct


def kernel(x, weights, bias, problem, out):
    direct(x, weights, bias, problem, out)
    ctypes.memset(out.ctypes.data + out.nbytes, 0, 4)
