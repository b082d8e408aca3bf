"""The verdict on a result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rooftile.errors import VerificationFailure


@dataclass(frozen=True)
class Verdict:
    """The result of the comparison with the reference; errors are in the output's own units."""

    passed: bool
    reason: str = ""
    """Why it failed; empty when it passed."""
    max_abs: float = 0.0
    """Largest absolute error."""
    max_rel: float = 0.0
    """Largest absolute error, relative to the largest value of the reference of its item."""
    budget_fraction: float = 0.0
    """Worst error over its budget; above 1 the result is wrong."""
    index: tuple[int, ...] = ()
    """The index of the worst element, by budget."""
    got: float = math.nan
    expected: float = math.nan
    budget: float = 0.0
    wrong_elements: int = 0
    """Number of elements outside their budget."""
    not_finite: int = 0
    """Number of them that are NaN or infinite and should not be, or the reverse."""

    def raise_if_wrong(self) -> None:
        """Raise `VerificationFailure` unless the verdict is that it passed."""
        if not self.passed:
            raise VerificationFailure(
                self.index, self.got, self.expected, self.budget, f"result ({self.reason})"
            )

    def describe(self, size: int) -> str:
        """Why it failed: NaN and infinity first, which are not merely inexact."""
        if self.reason:
            return self.reason
        if self.not_finite:
            what = "NaN, infinite, or not written" if math.isfinite(self.expected) else "finite"
            return f"{self.not_finite} of {size} elements are {what}, and should not be"
        what = "outside the budget" if self.budget else "other than the reference"
        return f"{self.wrong_elements} of {size} elements {what}"


def worse(a: Verdict, b: Verdict, first: int) -> Verdict:
    """The verdict on two parts, of which the second begins at item ``first`` of a batch.

    ``first`` is 0 where there is no batch.
    """
    # The one element of an output without axes has an empty index, and so has an empty part.
    if b.index:
        b = replace(b, index=(b.index[0] + first, *b.index[1:]))
    worst = b if b.budget_fraction > a.budget_fraction else a
    return replace(
        worst,
        passed=a.passed and b.passed,
        reason=a.reason or b.reason,
        max_abs=max(a.max_abs, b.max_abs),
        max_rel=max(a.max_rel, b.max_rel),
        wrong_elements=a.wrong_elements + b.wrong_elements,
        not_finite=a.not_finite + b.not_finite,
    )
