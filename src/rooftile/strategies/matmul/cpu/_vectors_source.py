"""Generate the kernel of `vectors`, which reads b[inner, columns] unpacked.

Sizes come at run time, so that all problems share one compilation.
"""

from __future__ import annotations

from rooftile.devices.cpu.emit import Writer

PANEL = 8
"""Vectors of columns of a unit of work."""
CHUNK = 32
"""Rows of a unit of work."""


def _shapes(registers: int) -> dict[int, int]:
    """Vectors of a register block by its rows, the most rows first."""
    return {4: 4, 2: 8, 1: 8} if registers >= 32 else {2: 4, 1: 8}


def generate(lanes: int, registers: int) -> str:
    """Source of a module with ``kernel(a, b, out, sizes, begin, end)``.

    ``sizes``: rows, inner, columns, terms that are summed in one go, how far a's rows lie apart,
    and its terms.  A unit is a panel of columns for a chunk of rows.
    """
    to = Writer()
    shapes = _shapes(registers)
    for rows, vectors in shapes.items():
        _emit_block(to, rows, vectors, lanes)
        _emit_block(to, rows, 1, lanes)
    with to.block("def kernel(a, b, out, sizes, begin, end):"):
        to.line(
            "rows, inner, columns, step = sizes[0], sizes[1], sizes[2], sizes[3]",
            "apart, along = sizes[4], sizes[5]",
            f"panels = (columns + {PANEL * lanes - 1}) // {PANEL * lanes}",
        )
        with to.block("for unit in range(begin, end):"):
            to.line(
                f"first = unit % panels * {PANEL * lanes}",
                f"last = min(columns, first + {PANEL * lanes})",
                f"i = unit // panels * {CHUNK}",
                f"stop = min(rows, i + {CHUNK})",
            )
            for height, vectors in shapes.items():
                with to.block(f"while stop - i >= {height}:"):
                    to.line("j = first")
                    _emit_calls(to, f"last - j >= {vectors * lanes}", height, vectors, lanes)
                    _emit_calls(to, "j < last", height, 1, lanes)
                    to.line(f"i += {height}")
    return to.text()


def _emit_calls(to: Writer, condition: str, rows: int, vectors: int, lanes: int) -> None:
    """Write the loop over blocks of columns."""
    with to.block(f"while {condition}:"):
        to.line(
            f"block{rows}x{vectors}(a, i * apart, apart, along, b, j, columns, out,"
            f" i * columns + j, inner, step, min({lanes}, last - j))",
            f"j += {vectors * lanes}",
        )


def _emit_block(to: Writer, rows: int, vectors: int, lanes: int) -> None:
    """Write a register block: of one vector, only ``count`` columns exist."""
    part, count = ("_part", ", count") if vectors == 1 else ("", "")
    block = [(i, v) for i in range(rows) for v in range(vectors)]
    with (
        to.block(
            f"def block{rows}x{vectors}(a, at, apart, along, b, j, columns, out, o, inner, step,"
            " count):"
        ),
        to.block("for start in range(0, inner, step):"),
    ):
        to.line(*(f"s{i}_{v} = splat(float32(0.0))" for i, v in block))
        with to.block("for k in range(start, min(inner, start + step)):"):
            for v in range(vectors):
                to.line(f"w{v} = load{part}(b, j + k * columns + {v * lanes}{count})")
            for i in range(rows):
                to.line(f"u = splat_at(a, at + {i} * apart + k * along)")
                to.line(*(f"s{i}_{v} = fma(u, w{v}, s{i}_{v})" for v in range(vectors)))
        for i, v in block:
            place = f"o + {i} * columns + {v * lanes}"
            with to.block("if start > 0:"):
                to.line(f"s{i}_{v} = add(load{part}(out, {place}{count}), s{i}_{v})")
            to.line(f"store{part}(out, {place}, s{i}_{v}{count})")
    to.line("", "")
