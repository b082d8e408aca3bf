"""Writes to address zero."""

import ctypes


def kernel(x, weights, bias):
    ctypes.memset(0, 0, 1)
