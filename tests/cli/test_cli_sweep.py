"""`rooftile sweep`: the table, the object, the records, an interrupt that keeps what is done."""

from __future__ import annotations

import pytest

from rooftile.lab.measure import sweep as module
from rooftile.lab.measure.history.store import records

ARGUMENTS = ("sweep", "softmax", "--seconds", 60, "--precision", "ieee", "--regret")


@pytest.fixture(autouse=True)
def two_problems(known_roof, monkeypatch):
    """The first two that are drawn, small ones."""
    monkeypatch.setitem(module.LIMITS, "cpu", (1e6, 1e5))
    monkeypatch.setattr(module, "BRIEF_S", 0.001)
    every = module.sweep

    def two(*arguments, **options):
        found = every(*arguments, **options)
        yield from (next(found) for _ in range(2))

    monkeypatch.setattr(module, "sweep", two)


def test_the_distribution_and_the_worst_with_their_commands(call):
    code, out, _ = call(*ARGUMENTS)
    assert code == 0
    assert out.startswith("2 problems drawn by seed 0: 2 right and timed")
    assert sum(line.startswith(("softmax ", "all ")) for line in out.splitlines()) == 2
    assert "rooftile climb softmax --shape batch=" in " ".join(out.split())


def test_the_object_and_the_records(call_json):
    found = call_json(*ARGUMENTS, "--seed", 3)
    assert found["operations"]["softmax"]["problems"] == 2
    assert [one["number"] for one in found["problems"]] == [0, 1]
    assert (found["seed"], found["interrupted"]) == (3, False)
    kept = [one for one in records(operation="softmax", command="sweep") if one.seed == 3]
    assert len(kept) == sum(len(one["times_ms"]) for one in found["problems"])


def test_an_interrupt_keeps_what_is_done(call, monkeypatch):
    every = module.sweep

    def interrupted(*arguments, **options):
        yield next(every(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "sweep", interrupted)
    code, out, _ = call(*ARGUMENTS)
    assert code == 130
    assert out.startswith("1 problems drawn by seed 0: 1 right")


def test_wrong_results_are_exit_code_1(call, monkeypatch):
    from rooftile.lab.judge import exam
    from rooftile.lab.judge.verdict import Verdict

    monkeypatch.setattr(exam.Exam, "examine", lambda *_, **__: Verdict(False, "it is wrong"))
    code, out, _ = call(*ARGUMENTS)
    assert code == 1
    assert "it is wrong" in " ".join(out.split())
