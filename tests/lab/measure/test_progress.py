from __future__ import annotations

from rooftile.lab.measure import progress as lab


def test_a_part_is_told_with_its_number_and_the_time_that_is_left(monkeypatch):
    now, said = [100.0], []
    monkeypatch.setattr(lab.time, "monotonic", lambda: now[0])
    steps = lab.PartLines(said.append, "rung", 4)
    steps("before")
    steps.begin(0)
    steps("naive")
    now[0] += 10
    steps.begin(1, after_s=5)
    steps("tile")
    steps.begin(4)
    steps("timing")
    # One took 10 s, so three take 30, and 5 come behind them.
    assert said == ["before", "rung 1 of 4: naive", "rung 2 of 4, about 35 s left: tile", "timing"]


def test_parts_that_have_names_alone_follow_each_other(monkeypatch):
    monkeypatch.setattr(lab.time, "monotonic", lambda: 0.0)
    said = []
    steps = lab.PartLines(said.append, "step", 2)
    steps.next("loading")
    steps("more of it")
    steps.next("timing")
    assert said == ["step 1 of 2: loading", "step 1 of 2: more of it", "step 2 of 2: timing"]
