"""What excuses a peer: roundings of its format, and nothing that is merely not computed."""

from __future__ import annotations

import math

import pytest

from rooftile.lab.judge.arithmetic import excuse, excuse_of_network
from rooftile.lab.judge.verdict import Verdict


@pytest.mark.parametrize("precision", ["ieee", "tf32", "fp16", "bf16"])
@pytest.mark.parametrize(
    "wrong",
    [
        Verdict(False, "shape (10,) instead of (10, 10)"),
        Verdict(False, max_rel=math.inf, budget_fraction=math.inf, not_finite=1),
        Verdict(False, max_rel=1.0, budget_fraction=1e4, wrong_elements=3),
    ],
)
def test_a_wrong_result_is_not_excused(wrong: Verdict, precision: str) -> None:
    assert excuse(wrong, precision) is None


def test_roundings_of_its_format_are_excused_and_said() -> None:
    near = Verdict(False, max_rel=1e-3, budget_fraction=3.0, wrong_elements=1)
    assert "3 times the budget of fp16" in str(excuse(near, "fp16"))
    assert excuse(near, "ieee") is None
    assert excuse(Verdict(True), "ieee") == ""


def test_what_a_formats_roundings_explain_is_no_wrong_result() -> None:
    def said_of(max_rel: float, precision: str, *, passed: bool = False) -> str | None:
        verdict = Verdict(passed, "" if passed else "wrong", max_rel=max_rel, budget_fraction=30.0)
        return excuse(verdict, precision)

    assert said_of(0.5, "ieee", passed=True) == ""
    for precision, unit in (("tf32", 2.0**-10), ("fp16", 2.0**-11), ("bf16", 2.0**-8)):
        said = said_of(2 * unit, precision)
        assert f"30 times the budget of {precision}" in str(said)
        assert said_of(0.3, precision) is None
        assert said_of(math.nan, precision) is None
    assert said_of(1e-6, "ieee") is None
    assert said_of(1e-6, "fast") is None


def test_a_network_has_four_times_its_budget_and_no_more() -> None:
    def said_of(fraction: float, *, passed: bool = False) -> str | None:
        verdict = Verdict(passed, "" if passed else "wrong", max_rel=0.2, budget_fraction=fraction)
        return excuse_of_network(verdict)

    assert said_of(0.5, passed=True) == ""
    assert "off by 3.9 times their budget, the worst by 2.0e-01" in str(said_of(3.9))
    # Without an error it is something else that is wrong: a shape, or NaN.
    for fraction in (4.1, math.nan, math.inf, 0.0):
        assert said_of(fraction) is None
