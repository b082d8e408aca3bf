"""A strategy's preparation on a device that may lack what its other kernels need."""

from __future__ import annotations

import numpy as np

from rooftile.devices.text import whole

_HEADERS = {
    "round_weights": "common/rounded.h",
    "split_weights": "conv2d/gpu/pool_folded/split.h",
}
"""Where kernels of texts that are CUDA only lie: these headers are OpenCL too."""


def text_of(rung, problem):
    """What the preparation is compiled from, headers in place."""
    if "opencl" in rung.devices:
        return rung.whole_text
    steps = rung.preparation(problem, rung.config(problem))
    return whole(f'#include "{_HEADERS[steps[-1].launch.kernel]}"', rung.folders)


def prepared(rung, problem, parameters, device, config=None, text=None):
    """The bits of each array that its preparation makes, in memory that held NaN."""
    values = rung.config(problem, config)

    def allocate(count):
        return device.upload(np.full(count, np.nan, np.float32))

    names = problem.parameter_shapes
    packed = rung.packed(problem, dict(zip(names, parameters, strict=True)), values)
    arrays = {name: device.upload(np.ascontiguousarray(array)) for name, array in packed.items()}
    steps = rung.preparation(problem, values)
    named = {a for step in steps for a in step.arguments if isinstance(a, str)}
    counts = {n: count for n, count in rung.workspace(problem, values).items() if n in named}
    arrays |= {name: allocate(count) for name, count in counts.items()}
    program = device.compile(text or text_of(rung, problem), rung.macros(problem, values))
    for step in steps:
        given = (arrays[a] if isinstance(a, str) else np.int32(a) for a in step.arguments)
        program.launch(step.launch, *given)
    found = {name: np.empty(count, np.uint32) for name, count in counts.items()}
    for name, bits in found.items():
        device.copy_out(arrays[name], bits)
    return found
