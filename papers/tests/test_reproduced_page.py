"""The pages of published experiments: in step with the records, and what they make of one."""

from __future__ import annotations

import pytest

from rooftile_papers.reproduce.catalogue import experiment, record, setting


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("reproduced_page")


def test_the_pages_are_in_step_with_the_records(script):
    assert script.PAGE.read_text(encoding="utf-8") == script.summary(script.records())
    assert script.WHOLE.read_text(encoding="utf-8") == script.whole(script.records())


def test_a_summary_counts_verdicts_and_says_why_numbers_are_wrong(script):
    kept = record(experiment("exams"), setting("cpu"))
    text = script.summary([kept])
    wrong = sum(one["verdict"] == "cannot be" for one in kept["verdicts"])
    assert wrong
    assert f"| {wrong} |" in text
    tables = {one["table"] for one in kept["verdicts"] if one["verdict"] == "cannot be"}
    assert text.count("cannot be, ") == script.MOST < len(tables)
    assert f"- and {len(tables) - script.MOST} more tables" in text
    assert len(text.split()) < 4_000


def test_a_record_becomes_tables_of_published_and_own_numbers(script):
    kept = record(experiment("exams"), setting("cpu"))
    page = script.whole([kept])
    assert "| e | 1 | 3 | 2 | cannot be |" in page
    assert "| 32 | 1200 | 1200 | 0 | holds |" in page
    # What nothing was measured for has no row.
    assert "lectures 4 and 7" not in page
    # One experiment has a record, and one section is of listings.
    assert page.count("It has no record yet.") == page.count("\n## ") - 2
    assert "| the compiler |" in page


def test_a_new_record_takes_the_place_of_the_old_one(benchmark_script, tmp_path):
    records, path = benchmark_script("reproduced"), tmp_path / "records.json"
    assert records.kept(path) == []
    for name, seconds in (("exams", 1), ("conv1d", 2), ("exams", 3)):
        records.write(path, records.with_record(path, {"experiment": name, "seconds": seconds}))
    found = [(one["experiment"], one["seconds"]) for one in records.kept(path)]
    assert found == [("conv1d", 2), ("exams", 3)]
