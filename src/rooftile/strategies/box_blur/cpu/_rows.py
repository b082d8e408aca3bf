"""A row of bytes joins the sums of columns, or leaves them."""

from __future__ import annotations

from rooftile.devices.cpu.native import native


@native
def add_row(image, sums, at, columns):  # type: ignore[no-untyped-def]
    for j in range(columns):
        sums[j] += image[at + j]


@native
def remove_row(image, sums, at, columns):  # type: ignore[no-untyped-def]
    for j in range(columns):
        sums[j] -= image[at + j]
