"""The README's pictures and the page of the CPU's ladder: in step with their records."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import pytest

from rooftile.strategies import ladder


@pytest.fixture(scope="module")
def pictures(benchmark_script):
    return benchmark_script("first_pictures")


@pytest.fixture(scope="module")
def page(benchmark_script):
    return benchmark_script("cpu_ladder_page")


def test_the_page_is_what_its_script_writes(page):
    assert page.PAGE.read_text(encoding="utf-8") == page.text()


def test_every_rung_of_the_cpu_is_on_it(page):
    text = page.text()
    for rung in ladder("conv2d", "cpu"):
        assert f"### `{rung.name}`" in text
    assert "not in the record" not in text


def test_the_climbs_picture_shows_the_record(pictures, page):
    kept = pictures.CLIMB.read_text(encoding="utf-8")
    ElementTree.fromstring(kept)
    assert "http" not in kept.replace("http://www.w3.org/", "")
    shown = unescape(re.sub(r"<[^>]+>", " ", kept)).replace("\xa0", " ")
    for row in page.records()["lenet-conv1"]["rows"]:
        assert (row["strategy"] in shown) == bool(row["time_ms"])
    assert pictures.COMMAND in shown


def test_the_picture_is_drawn_from_that_record(pictures):
    drawn = ElementTree.fromstring(pictures.climb_picture())
    assert len(list(drawn.iter())) > 20


def test_the_pictures_are_on_the_readmes_first_screen(pictures):
    first = (pictures.DOCS.parent / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    for path in (pictures.CLIMB, pictures.REPORT):
        assert path.stat().st_size < 64 * 1024
        assert any(f"docs/{path.name}" in line for line in first)
