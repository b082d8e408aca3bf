"""The program that is profiled: one strategy, bound to random inputs and launched once.

python -m rooftile.lab.explain.child '{"operation": ..., "shape": ..., ...}'
"""

from __future__ import annotations

import json
import sys

from rooftile.devices.select import open_gpu
from rooftile.lab.verify import random_inputs
from rooftile.ops import parse
from rooftile.strategies import strategy
from rooftile.strategies.gpu import GpuStrategy


def main(text: str) -> None:
    """Launch what the JSON object asks for: operation, shape, batch, strategy, device, config."""
    asked = json.loads(text)
    problem = parse(asked["operation"], asked["shape"], asked["batch"])
    device = open_gpu(asked["device"])
    rung = strategy(asked["operation"], asked["strategy"], device.description.kind)
    assert isinstance(rung, GpuStrategy)
    x, *parameters = random_inputs(problem, asked["seed"])
    with device.on():
        bound = rung.bind(problem, *parameters, device=device, config=asked["config"])
        given, result = bound.resident()
        device.copy_in(x, given)
        bound.launch(given, result, problem.batch)
        device.synchronise()


if __name__ == "__main__":
    main(sys.argv[1])
