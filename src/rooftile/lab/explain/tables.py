"""Which strategies have a model of their accesses, by operation and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rooftile.lab.explain import conv2d_direct, conv2d_tiles, matrix, rows
from rooftile.lab.explain.accesses import Accesses
from rooftile.strategies.gpu import Config, GpuStrategy

Model = Callable[[Any, Config], dict[str, Accesses]]
"""``model(problem, config)``: accesses of each kernel, by name, for the whole batch."""

MODELS: dict[tuple[str, str], Model] = {
    (operation, name): model
    for operation, table in (
        ("conv2d", conv2d_direct.ACCESSES),
        ("conv2d", conv2d_tiles.ACCESSES),
        ("conv2d", matrix.CONV2D),
        ("linear", matrix.LINEAR),
        ("pool2d", rows.POOL2D),
        ("softmax", rows.SOFTMAX),
    )
    for name, model in table.items()
}


def accesses(strategy: GpuStrategy, problem: Any, config: Config) -> dict[str, Accesses]:
    """A strategy's accesses by kernel; empty where it has no model."""
    model = MODELS.get((strategy.operation, strategy.name))
    return model(problem, config) if model else {}
