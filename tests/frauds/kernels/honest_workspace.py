"""Honest: keeps memory between calls, but no results; and it is talkative."""

import sys

import numpy as np
from _direct import direct

WORKSPACE = {}


def kernel(x, weights, bias, problem):
    kept = WORKSPACE.setdefault(x.shape, np.empty_like(x))
    kept[...] = x
    print("called", file=sys.stderr)
    return direct(kept, weights, bias, problem)
