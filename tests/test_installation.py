"""What the pages say of an installation, and the README of the table, is what the records hold."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("installation")


def test_the_pages_are_in_step_with_the_record(script):
    record = json.loads(script.RECORD.read_text("utf-8"))
    for path, words in ((script.README, script.readme), (script.PAGE, script.page)):
        text = path.read_text("utf-8")
        assert script.filled(text, words(record), script.MARK) == text


def test_the_readme_is_in_step_with_the_table(benchmark_script):
    table = benchmark_script("table_page")
    text = table.README.read_text("utf-8")
    assert table.filled(text, table.readme(table.RECORD), "table") == text


def test_sizes_are_those_on_the_disk(script, tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file").write_bytes(bytes(100_000))
    assert 100_000 <= script._bytes_on_disk(tmp_path / "some") <= 130_000
    record = {
        "time": "2026-11-23T01:00:00",
        "system": "Linux",
        "python": "3.11",
        "wheel_bytes": 2**23,
        "bytes": {
            **dict.fromkeys(script._DOWNLOADS, 2**19),
            "llvmlite": 2**27,
            "numpy": 2**26,
            "rooftile": 2**24,
        },
    }
    assert "takes 211 MB on a disk, of which 128 MB" in script.readme(record)[0]
    assert "Its wheel is 8 MB." in script.page(record)[-2]
    assert script.page(record)[-1] == "pooch and what it downloads with take 3 MB."
