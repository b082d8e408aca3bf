"""Draw the pictures of the ladders' pages: ``docs/pictures/*.svg``, from the rungs themselves.

    python benchmarks/pictures.py

Each is what ``rooftile explain OP --shape ... --strategy NAME --config ... --device cuda --picture
FILE`` draws, of a problem and tiles so small that every element can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rooftile.lab.show.explain.drawing import picture
from rooftile.ops import Conv2d, Problem
from rooftile.ops.patterns.box_blur import BoxBlur
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.conv3d import Conv3d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.ops.patterns.grayscale import Grayscale
from rooftile.ops.patterns.matmul import Matmul
from rooftile.ops.patterns.matvec import Matvec
from rooftile.ops.patterns.permute_columns import PermuteColumns
from rooftile.ops.patterns.rotate import Rotate
from rooftile.ops.patterns.separable import Separable
from rooftile.ops.patterns.stencil import Stencil
from rooftile.ops.patterns.transpose import Transpose
from rooftile.strategies import strategy
from rooftile.strategies.contract.gpu import Config, of_launches

DOCS = Path(__file__).parent.parent / "docs"
FOLDER = DOCS / "pictures"


@dataclass(frozen=True)
class Drawn:
    """A rung on a problem, and the page that shows it."""

    page: str
    rung: str
    problem: Problem
    config: Config

    @property
    def name(self) -> str:
        return f"{self.problem.operation}-{self.rung}.svg"

    def text(self) -> str:
        """The picture."""
        rung = of_launches(strategy(self.problem.operation, self.rung, "cuda"))
        return picture(rung, self.problem, rung.config(self.problem, self.config))


_LOADED = {"LOADED_Z": 4, "LOADED_Y": 8, "LOADED_X": 8}

PICTURES = (
    Drawn("conv1d", "tile_two_loads", Conv1d(20, 5), {"BLOCK": 8}),
    Drawn("conv1d", "shared", Separable(12, 16, (3, 5)), {"TILE_Y": 4, "TILE_X": 8, "TEAMS": 1}),
    Drawn("conv3d", "cube", Conv3d(8, 12, 12, (3, 3, 3)), _LOADED),
    Drawn("conv3d", "tile", Stencil((8, 12, 12), 7), _LOADED),
    Drawn("matmul", "tiled_any", Matmul(10, 9, 11), {"TILE": 4}),
    Drawn("matmul", "warp_rows", Matvec(6, 32), {"LANES": 4, "SLICES": 4}),
    Drawn("transpose", "padded", Transpose((64, 64)), {}),
    Drawn("transpose", "rows", PermuteColumns(4, 12, 12), {"BLOCK": 4}),
    Drawn("transpose", "in_place", Rotate((4, 16), 3), {"BLOCK": 4}),
    Drawn("images", "vectors", Grayscale(8, 16), {"BLOCK": 4}),
    Drawn("images", "tiled", BoxBlur(12, 16, 2), {"ACROSS": 8, "DOWN": 4}),
    Drawn("elementwise", "adjacent", Elementwise("add", (64,)), {"BLOCK": 16, "ELEMENTS": 4}),
    Drawn("elementwise", "block_strided", Elementwise("add", (64,)), {"BLOCK": 16, "ELEMENTS": 4}),
    Drawn(
        "gpu",
        "tile_output",
        Conv2d(1, 1, 12, 16, 1, (3, 3), padding=(1, 1)),
        {"TILE_Y": 4, "TILE_X": 8},
    ),
)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for one in PICTURES:
        (FOLDER / one.name).write_text(one.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
