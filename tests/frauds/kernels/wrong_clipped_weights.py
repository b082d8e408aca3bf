"""Clips weights, of which no ordinary one is so large."""

from _direct import direct


def kernel(x, weights, bias, problem):
    return direct(x, weights.clip(-8, 8), bias, problem)
