"""The base of the CPU's strategies of `argreduce`: kernels generated for an operator and a
dtype."""

from __future__ import annotations

from rooftile.devices import cpu
from rooftile.devices.cpu.native import source, values_of
from rooftile.ops.patterns.argreduce import Argreduce
from rooftile.strategies.common.operators import (
    array_in_kernel_language,
    number_in_kernel_language,
)

_BETTER = """
def better(a, b):
    # NaN is before every number; of equal values neither is before the other.
    return a {sign} b or (a != a and b == b)


def extreme(a, b):
    return np.{function}(a, b)
"""
_WORDS = {"max": (">", "maximum"), "min": ("<", "minimum")}


def searching(
    stem: str, text: str, problem: Argreduce, dtypes: tuple[str, ...], **words: object
) -> cpu.Spread:
    """The kernel of a text that knows `better` and `extreme`, IDENTITY, CARRIED and the words.

    ``dtypes`` are the kernel's arrays'; numbers of 16 bits come as float32.
    """
    carried = problem.carried
    identity = problem.selecting.identity_in(carried)
    known = {
        "IDENTITY": number_in_kernel_language(identity, carried),
        "CARRIED": array_in_kernel_language(carried),
        **words,
    }
    for word, value in known.items():
        text = text.replace(word, str(value))
    sign, function = _WORDS[problem.operator]
    made = source(stem, _BETTER.format(sign=sign, function=function) + text)
    return cpu.Spread(made, [values_of(dtype) for dtype in dtypes])
