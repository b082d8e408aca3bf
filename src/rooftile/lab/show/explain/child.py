"""The program that is profiled: one strategy, bound to random inputs and launched once.

python -m rooftile.lab.show.explain.child '{"operation": ..., "shape": ..., ...}'
"""

from __future__ import annotations

import json
import sys

from rooftile.devices.select import open_gpu
from rooftile.ops import parse
from rooftile.strategies import strategy


def main(text: str) -> None:
    """Launch what the JSON object asks for: operation, shape, batch, strategy, device, config."""
    asked = json.loads(text)
    problem = parse(asked["operation"], asked["shape"], asked["batch"])
    device = open_gpu(asked["device"])
    rung = strategy(asked["operation"], asked["strategy"], device.kind)
    values, count = problem.random(asked["seed"]), len(problem.input_arrays)
    with device.on():
        bound = rung.bind(problem, values[count:], device, asked["config"])
        memory = bound.memory()
        for array, place, to in zip(values[:count], bound.held, memory, strict=False):
            bound.load(array, place, to)
        bound.launch(memory)
        device.synchronise()


if __name__ == "__main__":
    main(sys.argv[1])
