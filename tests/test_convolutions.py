"""Convolutions compared with PyTorch's: the cases, and what the page makes of a record.

No GPU is needed: the times of the record here are made up.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest


@pytest.fixture
def scripts(benchmark_script):
    names = ("convolutions", "convolutions_cases", "convolutions_page")
    return SimpleNamespace(**{name: benchmark_script(name) for name in names})


def a_row(precision, **times):
    return {
        "key": f"a name, {precision}", "label": "a name", "sizes": "few", "precision": precision,
        "picked": "naive", "refused": {}, "seconds": 0.5,
        "times": {name.replace("_last", ", channels_last"): {"event_us": {"median": one}}
                  for name, one in times.items()},
    }  # fmt: skip


def test_fifteen_convolutions_at_every_precision(scripts):
    keys = [case.key for case in scripts.convolutions_cases.cases()]
    assert len(keys) == len(set(keys)) == 15 * 4
    words = [
        scripts.convolutions_cases.sizes(p) for p in scripts.convolutions_cases.PROBLEMS.values()
    ]
    assert "128 x 3x224x224, 64 maps 11x11, stride 4, padding 2" in words


def test_ours_is_held_against_the_best_of_both_orders(scripts):
    page = scripts.convolutions_page
    row = a_row("tf32", prepared=10.0, prepared_last=20.0, torch=30.0, torch_last=15.0)
    assert [page.times_as_fast(row, name) for name in page.PREPARED] == [1.5, 0.75]
    assert page.times_as_fast(a_row("tf32", torch=3.0), "prepared") is None
    said = page.summary([row, a_row("fp16", prepared=1.0, torch=2.0)])
    assert "`tf32`, prepared: 1.50 times as fast" in said
    assert "0.75 at least; 0 of 1 at least as fast" in said


def test_the_page_has_every_row_and_what_has_no_time(scripts):
    rows = [a_row("tf32", call=12.0, prepared=10.0, torch=30.0), a_row("fp16")]
    rows[1]["refused"] = {"call": "wrong: by far"}
    where = {"name": "a GPU", "driver": "a driver"}
    env = {"time": "now", "revision": "abc", "device": where}
    record = {"environment": env, "versions": "", "rows": rows}
    text = scripts.convolutions_page.whole(record, "r")
    assert "| `a name` | `naive` | 12 | - | 10 | - | 30 | - | 3.00 / - |" in text
    assert "- `a name, fp16`, call: wrong: by far" in text
    short = scripts.convolutions_page.page(record, "r.json")
    assert "| 10 us, 3.00 | - |" in short


def test_the_pages_are_in_step_with_the_record(scripts):
    page = scripts.convolutions_page
    record = json.loads(page.RECORD.read_text(encoding="utf-8"))
    assert page.PAGE.read_text("utf-8") == page.page(record, page.RECORD.name)
    beside = page.RECORD.with_suffix(".md").read_text("utf-8")
    assert beside == page.whole(record, page.RECORD.name)


def test_a_line_for_a_terminal_begins_with_the_fastest(scripts):
    line = scripts.convolutions.line(a_row("ieee", torch=30.0, prepared=10.0))
    assert line.index("prepared 10") < line.index("torch 30")


def test_a_new_row_takes_the_place_of_its_former(scripts):
    keys = [case.key for case in scripts.convolutions_cases.cases()][:3]
    rows = [{"key": keys[2]}, {"key": keys[0], "old": True}]
    made = scripts.convolutions.merged(
        scripts.convolutions.merged(rows, {"key": keys[1]}), {"key": keys[0]}
    )
    assert made == [{"key": key} for key in keys]
