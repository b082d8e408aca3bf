"""Raises."""


def kernel(x, weights, bias):
    raise ValueError("no such luck")
