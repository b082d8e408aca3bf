"""`row_private`: each thread copies its rows to private memory first.

Source: the OpenCL report on a 5x5 convolution, variant with rows in private memory.
"""

from __future__ import annotations

from rooftile.strategies.contract.gpu import Tunable
from rooftile.strategies.conv2d.gpu._rows import RowConv2d


class RowPrivate(RowConv2d):
    """The rows of a span lie in registers, those of whole rows in memory of the thread's own."""

    name = "row_private"
    summary = "the rows in each thread's private memory"
    tunables = (*RowConv2d.tunables[:2], Tunable("SPAN", (8, 16, 32, 224), 8))


STRATEGY = RowPrivate()
