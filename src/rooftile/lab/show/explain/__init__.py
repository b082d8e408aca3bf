"""Explanations of a strategy's time: the paper model's numbers next to measured ones.

`explain` asks strategies for their launches and accesses, and problems for their arrays, and
knows none of them by name; the formulas come from `rooftile.analysis`.
`rooftile.lab.show.explain.profile` asks Nsight Compute for the same counts.
"""

from rooftile.lab.show.explain.explanation import Explanation, explain
from rooftile.lab.show.explain.kernels import KernelView
from rooftile.lab.show.explain.measured import Measured, latest, of_record

__all__ = ["Explanation", "KernelView", "Measured", "explain", "latest", "of_record"]
