"""Numbers and names as a reader sees them."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Mapping
from typing import Any

from rooftile.lab.measure.records import plain
from rooftile.ops import named, names
from rooftile.ops.fields import fields_of

_DERIVED = ("operation", "flops", "bytes", "output_shape")
_UNITS = {
    "gflops": "GFLOP/s",
    "gbps": "GB/s",
    "gib": "GiB",
    "mib": "MiB",
    "mhz": "MHz",
    "us": "µs",
    "cpu": "CPU",
    "fma": "FMA",
    "mma": "matrix",
    "sm": "SM",
    "w": "W",
    "c": "°C",
}


def figures(value: float, digits: int = 3) -> str:
    """A number with ``digits`` figures: ``0.0420``, ``1,230``; far from one, with an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits - 1}e}")
    size = math.floor(math.log10(abs(rounded)))
    if not -5 < size < 6:
        return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{rounded:,.{max(digits - 1 - size, 0)}f}"


def milliseconds(value: float) -> str:
    """A time with its unit."""
    return f"{figures(value)} ms"


def share(fraction: float) -> str:
    """A share of one in percent: ``3.4 %``, ``71 %``."""
    percent = 100 * fraction
    return f"{percent:.0f} %" if percent >= 9.95 else f"{figures(percent, 2)} %"


def rate(gigas: float, unit: str, write: Callable[[float], str] = figures) -> str:
    """1e9 a second with a fitting prefix: ``494 GFLOP/s``, ``62.1 TFLOP/s``."""
    for factor, prefix in ((1e3, "T"), (1.0, "G"), (1e-3, "M")):
        if gigas >= factor * 0.9995:
            return f"{write(gigas / factor)} {prefix}{unit}/s"
    return f"{write(gigas / 1e-6)} k{unit}/s"


def tick(value: float) -> str:
    """An axis label, without needless noughts."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"


def shape(problem: Mapping[str, Any]) -> str:
    """A problem's sizes, without the usual values: ``batch 64, channels 1, mask 7 × 7, relu``."""
    usual = _usual(str(problem["operation"]))
    # The history sorts the fields by name; here they stand as the operation has them.
    told = [key for key in usual or problem if key in problem]
    return ", ".join(
        _part(key, problem[key])
        for key in told
        if key not in _DERIVED and usual.get(key) != problem[key]
    )


def name(problem: Mapping[str, Any]) -> str:
    """A problem's operation, with its name if it is one of the named: ``conv2d lenet-conv1``."""
    operation = str(problem["operation"])
    sizes = {key: value for key, value in problem.items() if key not in (*_DERIVED, "batch")}
    for one, fields in _named(operation).items():
        if {key: value for key, value in fields.items() if key != "batch"} == sizes:
            return f"{operation} {one}"
    return operation


def _named(operation: str) -> dict[str, dict[str, Any]]:
    """The fields of an operation's named problems."""
    problems = {one: named(operation, one) for one in names(operation)}
    return {one: plain(fields_of(problem)) for one, problem in problems.items()}


def _usual(operation: str) -> dict[str, Any]:
    """The fields of an operation's problems in their order, with their default values; None stands
    for a field that must always be given."""
    one = next((named(operation, name) for name in names(operation)), None)
    fields = dataclasses.fields(one) if one else ()  # type: ignore[arg-type]
    defaults = {field.name: field.default for field in fields}
    return {
        name: None if value is dataclasses.MISSING else plain(value)
        for name, value in defaults.items()
    }


def moment(text: str) -> str:
    """An ISO 8601 time to the minute, with its offset; another text as it is."""
    try:
        return f"{datetime.datetime.fromisoformat(text):%Y-%m-%d %H:%M %Z}".strip()
    except ValueError:
        return text


def label(key: str) -> str:
    """A field's name for a reader: ``copy_gbps`` as ``copy GB/s``."""
    return " ".join(_UNITS.get(word, word) for word in key.split("_"))


def _part(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"not {key}"
    if isinstance(value, Mapping) and "expression" in value:
        return f"{key} {value.get('name') or value['expression']}"
    if isinstance(value, Mapping):
        # A pool, for example: its kind stands before the name, its sizes behind it.
        kinds = [one for one in value.values() if isinstance(one, str)]
        sizes = dict.fromkeys(_sizes(one) for one in value.values() if not isinstance(one, str))
        return " ".join([*kinds, key, " by ".join(sizes)])
    if isinstance(value, str):
        return value
    return f"{key} {_sizes(value)}"


def _sizes(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " × ".join(map(str, value))
    return "" if value is None else str(value)


def settings(config: Mapping[str, object]) -> str:
    """The values of the tunables: ``BLOCK_X=32 BLOCK_Y=4``."""
    return " ".join(f"{name}={value}" for name, value in config.items())
