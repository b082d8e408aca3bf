"""A problem in a few words, from the template of its class and the values of its fields."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_POWERS_FROM = 2**16
"""Smaller numbers are written out."""


def in_words(problem: object, template: str) -> str:
    """The template of a problem's class filled."""
    return re.sub(r"\b1 (\w+)s\b", r"1 \1", _Words().format(template, problem))


class _Words(string.Formatter):
    """Fills a template with the attributes of a problem. ``{name}`` is a value, ``{name?yes|no}``
    one of two texts, by whether it is true. Numbers and shapes come as people write them."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """An attribute of the problem, or what is said where it is true or false."""
        (problem,) = args
        name, asked, texts = field_name.partition("?")
        value = getattr(problem, name)
        if not asked:
            return value, name
        yes, _, no = texts.partition("|")
        return yes if value else no, name

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec:
            return format(value, format_spec)
        if value is None:
            return ""
        if isinstance(value, int | np.integer):
            return number(int(value))
        if isinstance(value, tuple):
            return " x ".join(map(number, value))
        if value == "none":
            return "no activation"
        return str(value.in_words()) if hasattr(value, "in_words") else str(value)


def number(value: int) -> str:
    """``2^28``, ``10^8`` or ``16,384``."""
    for base in (2, 10):
        power, rest = 0, value
        while rest % base == 0 and rest > 1:
            power, rest = power + 1, rest // base
        if rest == 1 and value >= _POWERS_FROM:
            return f"{base}^{power}"
    return f"{value:,}"
