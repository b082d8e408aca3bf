"""Rung 30, `bulk_tf32`: both matrices in float32 as they lie, rounded by the copy engine."""

from __future__ import annotations

from rooftile.strategies.matmul.gpu.bulk._base import Bulk


class BulkTf32(Bulk):
    """Both matrices rounded to TF32, sums in float32."""

    name = "bulk_tf32"
    order = 30
    precision = "tf32"
    summary = "Hopper's warpgroups, both matrices as they lie, rounded by the copy engine"


STRATEGY = BulkTf32()
