"""A strategy's preparation on a device that may lack what its other kernels need."""

from __future__ import annotations

import re

import numpy as np

from rooftile.devices.text import whole
from tests.support.storage import stored_by

_HEADERS = {
    "round_weights": "common/rounded.h",
    "split_weights": "conv2d/gpu/pool_folded/split.h",
}
"""Where kernels of texts that are CUDA only lie: these headers are OpenCL too."""


def text_of(rung, problem):
    """What the preparation is compiled from, headers in place."""
    if "opencl" in rung.devices:
        return rung.whole_text
    last = rung.preparation(problem, rung.config(problem))[-1].launch.kernel
    header = _HEADERS[last.removeprefix(f"{rung.kernel()}_")]
    return whole(f'#define FAMILY {rung.kernel()}\n#include "{header}"\n', rung.folders)


def with_names(rung):
    """A rung's text, headers in place, with the names with which its kernels are compiled."""
    text = re.sub(r"\bKERNEL\((\w+)\)", rf"{rung.kernel()}_\1", rung.whole_text)
    return re.sub(r"\bFAMILY\b", rung.kernel(), text)


def prepared(rung, problem, parameters, device, config=None, text=None):
    """The bits of each array that its preparation makes, in memory that held NaN."""
    problem, config = stored_by(rung, problem, config)
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
    program = device.compile(text or text_of(rung, problem), rung.defines(problem, values))
    for step in steps:
        given = (arrays[a] if isinstance(a, str) else np.int32(a) for a in step.arguments)
        program.launch(step.launch, *given)
    found = {name: np.empty(count, np.uint32) for name, count in counts.items()}
    for name, bits in found.items():
        device.copy_out(arrays[name], bits)
    return found
