"""`naive`: a thread a pixel that adds to a bin in global memory, and a thread a byte."""

from __future__ import annotations

from rooftile.strategies.equalize.gpu._base import GpuEqualize


class Naive(GpuEqualize):
    """Takes every picture that a grid covers."""

    name = "naive"
    summary = "a thread a pixel, in double precision, every pixel an atomic in global memory"


STRATEGY = Naive()
