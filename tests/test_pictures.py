"""docs/pictures: drawn from the rungs, on the pages, and of what the models count."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from rooftile.analysis.pictures import LEGEND, MOST_COLUMNS, MOST_ROWS, Cell, Panel
from rooftile.errors import InputError
from rooftile.lab.show.explain import drawing
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.separable import Separable
from rooftile.strategies import ladder, strategy
from rooftile.strategies.contract.gpu import of_launches


@pytest.fixture(scope="module")
def script(benchmark_script):
    return benchmark_script("pictures")


def test_the_pictures_are_those_of_the_rungs(script):
    drawn = {one.name: one.text() for one in script.PICTURES}
    kept = {path.name: path.read_text(encoding="utf-8") for path in script.FOLDER.iterdir()}
    assert drawn == kept


def test_each_is_on_its_page(script):
    assert len({one.name for one in script.PICTURES}) == len(script.PICTURES)
    for one in script.PICTURES:
        text = (script.DOCS / "learn" / f"{one.page}.md").read_text(encoding="utf-8")
        assert f"(../pictures/{one.name})" in text


# A block makes all results, so that what it loads is what the model counts.
WHOLE = [
    ("tile_two_loads", Conv1d(8, 5), {"BLOCK": 8}),
    ("shared", Separable(6, 12, (3, 5), "valid"), {"TILE_Y": 4, "TILE_X": 8, "TEAMS": 1}),
    ("tiled", BoxBlur(4, 8, 2), {"ACROSS": 8, "DOWN": 4}),
    ("cube", Conv3d(1, 6, 6, (1, 3, 3)), {"LOADED_Z": 1, "LOADED_Y": 8, "LOADED_X": 8}),
]


@pytest.mark.parametrize(("name", "problem", "config"), WHOLE)
def test_what_is_drawn_as_loaded_is_what_the_model_counts(name, problem, config):
    rung = of_launches(strategy(problem.operation, name, "cuda"))
    config = rung.config(problem, config)
    first, *_, last = rung.picture(problem, config)
    (found,) = rung.accesses(problem, config).values()
    loaded = [cell for row in first.cells for cell in row if cell and cell.role != "ghost"]
    assert len(loaded) == found.loads
    made = [cell for row in last.cells for cell in row if cell and cell.role in ("made", "used")]
    assert len(made) == found.stores
    threads = rung.steps(problem, config)[0].launch.threads
    assert {int(cell.label) for cell in (*loaded, *made)} <= set(range(threads))


@pytest.mark.parametrize("rung", [r.name for r in ladder("elementwise", "cuda")])
def test_each_element_has_one_thread_and_turn(rung):
    problem = Elementwise("add", (4096,))
    found = of_launches(strategy("elementwise", rung, "cuda"))
    config = found.config(problem)
    count = found.of_block(problem, config)
    if not found.picture(problem, config):
        assert rung == "grid_stride"
        return
    owners = {found.of_thread(problem, config, element) for element in range(count)}
    width = 4 if rung == "vectors" else 1
    assert len(owners) == count / width
    assert {thread for thread, _ in owners} == set(range(config["BLOCK"]))


def test_a_drawing_has_its_cells_labels_and_legend():
    cells = ((Cell("core", "0"), Cell("core", "<1>")), (None, Cell("made")))
    text = drawing.serialised(drawing._drawn((Panel("a & b", cells),), LEGEND))
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    rects = [r.get("class") for r in root.iter(f"{space}rect")]
    assert rects == ["core", "made", "core", "made"]
    words = [t.text for t in root.iter(f"{space}text")]
    assert words == ["a & b", "0", "<1>", LEGEND["core"], LEGEND["made"]]


def test_a_rung_without_a_picture_says_so():
    naive = of_launches(strategy("conv1d", "naive", "cuda"))
    with pytest.raises(InputError, match="picture"):
        drawing.picture(naive, Conv1d(8, 3), naive.config(Conv1d(8, 3)))


def test_of_a_large_tile_the_first_elements_are_drawn():
    tiled = of_launches(strategy("box_blur", "tiled", "cuda"))
    large = BoxBlur(4096, 4096, 20)
    text = drawing.picture(tiled, large, tiled.config(large, {"ACROSS": 64, "DOWN": 16}))
    assert f"the first {MOST_ROWS} x {MOST_COLUMNS} of " in text
