"""Does not write the last row."""

from _direct import direct


def kernel(x, weights, bias, problem, out):
    out[..., :-1, :] = direct(x, weights, bias, problem)[..., :-1, :]
