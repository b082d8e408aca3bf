"""Families of sparse matrices for measurements: the fields of their problems, by name."""

from __future__ import annotations

from collections.abc import Mapping

from rooftile.ops.sparse.generated import Pattern, band_entries, grid_entries
from rooftile.ops.sparse.rows import Form

Fields = Mapping[str, object]
"""The fields of an `Spmv`."""


def _square(size: int, entries: int, form: Form, **more: object) -> Fields:
    return {"rows": size, "columns": size, "entries": entries, "form": form, **more}


def _family(
    prefix: str, size: int, pattern: Pattern, entries: int, width: int
) -> dict[str, Fields]:
    """A matrix in CSR and, where it is not padded much, in ELL, transposed JDS and COO."""
    forms: tuple[Form, ...] = ("csr", "coo", "ell", "jds_t")
    return {
        f"{prefix}-{form}": _square(size, entries, form, pattern=pattern, width=width)
        for form in forms
    }


def _band_in_others(prefix: str, size: int, entries: int) -> dict[str, Fields]:
    """The band of 27 diagonals in the formats that `_family` leaves out. A hybrid holds 20 entries
    of a row in its ELL part. A row of blocks of 4 x 4 meets nine blocks, less where the band ends.
    """
    reach, held, block = 13, 20, 4
    ends = sum(max(0, reach + 1 + i - held) for i in range(reach))
    tail = (size - 2 * reach) * (2 * reach + 1 - held) + 2 * ends
    most = -(-reach // block)
    blocks = (2 * most + 1) * (size // block) - most * (most + 1)
    return {
        f"{prefix}-jds": _square(size, entries, "jds", pattern="banded", width=27),
        f"{prefix}-csc": _square(size, entries, "csc", pattern="banded", width=27),
        f"{prefix}-hybrid": _square(
            size, entries, "hybrid", pattern="banded", width=held, tail=tail
        ),
        f"{prefix}-bsr": _square(size, entries, "bsr", pattern="banded", width=blocks, block=block),
    }


def families(size: int, side: int, longest: int, suffix: str = "") -> dict[str, Fields]:
    """Matrices of ``size`` rows, and of a grid of ``side`` points a side, by name."""
    band, grid = band_entries(size, 13), grid_entries(side)
    blocks = {"pattern": "blocks", "block": 4}
    return {
        **_family(f"banded{suffix}", size, "banded", band, 27),
        f"banded{suffix}-dia": _square(size, band, "dia", pattern="banded", width=27),
        **_band_in_others(f"banded{suffix}", size, band),
        **_family(f"random{suffix}", size, "even", 16 * size, 16),
        f"power{suffix}-csr": _square(size, 16 * size, "csr", width=longest),
        f"power{suffix}-coo": _square(size, 16 * size, "coo", width=longest),
        f"power{suffix}-hybrid": _square(size, 16 * size, "hybrid", width=16, tail=8 * size),
        **_family(f"grid{suffix}", side * side, "grid", grid, 5),
        f"grid{suffix}-dia": _square(side * side, grid, "dia", pattern="grid", width=5),
        f"blocks{suffix}-csr": _square(size, 16 * size, "csr", width=16, **blocks),
        f"blocks{suffix}-bsr": _square(size, 16 * size, "bsr", width=size // 4 * 4, **blocks),
        f"dense-row{suffix}-csr": _square(size, 9 * size - 8, "csr", pattern="dense", width=size),
    }
