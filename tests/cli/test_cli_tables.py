from __future__ import annotations

import io

import pytest
from rich.console import Console

from rooftile.cli.render.sheet import Sheet

HEADINGS = ("name", "empty", "ms", "GFLOP/s", "what it changes")
WORDS = "each thread computes one output after the other"
LONG = "a_strategy_with_a_name_that_nobody_cuts_off"


def sheet():
    made = Sheet(*HEADINGS, numbers=("ms", "GFLOP/s"), wraps=("what it changes",))
    made.add_row("loops", "", "1234.5", "0.1", WORDS)
    made.add_row(LONG, "", "0.0123", "98765.4", "[bold]tiles[/bold]")
    return made


def lines(width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(sheet())
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [200, 100, 80, 64])
def test_nothing_is_cut_off_at_any_width(width):
    shown = lines(width)
    assert max(map(len, shown)) <= width
    text = " ".join(shown)
    for cell in (LONG, "1234.5", "0.0123", "98765.4", "[bold]tiles[/bold]", *WORDS.split()):
        assert cell in text
    assert "empty" not in text


def test_what_fits_is_one_table_and_what_does_not_goes_below_with_its_names():
    assert sheet().parts(80) == [[0, 2, 3, 4]]
    assert sheet().parts(64) == [[0, 2, 3], [0, 4]]
    assert sheet().parts(60) == [[0, 2, 3], [4]]
    assert lines(200)[1].split()[:3] == ["loops", "1234.5", "0.1"]


def test_words_in_several_columns_stay_within_the_width():
    made = Sheet("name", "words", "more", wraps=("words", "more"))
    made.add_row("n" * 25, WORDS, "x[16384,16384] -> [16384]:int64")
    made.add_row("n", WORDS, "column_indices[28311370]:int32 " * 3)
    for width in (70, 80, 90, 100):
        console = Console(file=io.StringIO(), width=width, highlight=False)
        console.print(made)
        shown = console.file.getvalue()
        assert max(map(len, shown.splitlines())) <= width
        assert shown.count("column_indices[28311370]:int32") == 3
        assert "[16384]:int64" in shown


def test_a_row_without_cells_is_an_empty_line():
    made = Sheet("a", "b")
    made.add_row("x", "y")
    made.add_row()
    assert made.column("b") == ["y", ""]
