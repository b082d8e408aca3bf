"""Numbers rounded once to 16 bits for several products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.devices.launches import Call
from rooftile.ops import Precision
from rooftile.strategies.common.cores import CORES
from rooftile.strategies.common.grid import blocks
from rooftile.strategies.gpu import HEADERS

_THREADS = 256


def rounded(gpu: GpuDevice, precision: Precision, given: Any, to: Any, count: int) -> Call:
    """The launch that rounds so many float32, whole fours, to the 16 bits of a precision."""
    macros: dict[str, int | str] = {"CORES": CORES[precision].word, "THREADS": _THREADS}
    text = Path(__file__).with_name("rounded.cu").read_text(encoding="utf-8")
    fours = count // 4
    launch = Launch("rounded", (blocks(fours, _THREADS), 1, 1), (_THREADS, 1, 1), overlaps=True)
    return Call(gpu.compile(text, macros, [HEADERS]), launch, (given, to, np.int32(fours)))
