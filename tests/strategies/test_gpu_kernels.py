"""What rungs say of their kernels and to their texts names what is there."""

from __future__ import annotations

import functools
import itertools
import math
import re

import pytest

from rooftile.devices.gpu import prelude
from rooftile.ops import Conv2d, Pool, Pool2d, Softmax, named, names, operations
from rooftile.strategies import ladder
from rooftile.strategies.contract.gpu import HEADERS, GpuStrategy
from tests import launch_every_rung
from tests.support.preparing import with_names

PROBLEMS = {
    "conv2d": (
        named("conv2d", "lenet-conv1", 40),
        named("conv2d", "lenet-conv2", 40),
        Conv2d(2, 64, 20, 20, 64, (3, 3), padding=(1, 1)),
    ),
    "linear": (named("linear", "lenet-linear1", 40), named("linear", "mnist-linear1", 40)),
    "pool2d": (Pool2d(10, 3, 40, 40, Pool.of("max", 2)),),
    "softmax": (Softmax(100, 10),),
}
RUNGS = [
    pytest.param(rung, id=f"{operation}-{rung.name}")
    for operation in PROBLEMS
    for rung in ladder(operation, "cuda")
]


@pytest.mark.parametrize("rung", RUNGS)
def test_models_and_sums_are_of_kernels_that_are_launched(rung):
    for problem in PROBLEMS[rung.operation]:
        if rung.why_not(problem) is not None:
            continue
        config = rung.config(problem)
        kernels = {step.launch.kernel for step in rung.steps(problem, config)}
        assert not rung.summing or rung.kernel(rung.summing) in kernels
        models = rung.accesses(problem, config)
        assert not models or set(models) == kernels
        if models:
            assert sum(a.stores for a in models.values()) >= math.prod(problem.output_shape)


@functools.cache
def gpu_rungs():
    """Of every operation; a rung in both languages is one of CUDA's ladder too."""
    of_cuda, of_opencl = (
        list(itertools.chain.from_iterable(ladder(operation, device) for operation in operations()))
        for device in ("cuda", "opencl")
    )
    assert set(of_opencl) <= set(of_cuda)
    return [rung for rung in of_cuda if isinstance(rung, GpuStrategy)]


@pytest.mark.parametrize("operation", launch_every_rung.PROBLEMS)
def test_a_profiler_shows_the_rung(operation):
    """Kernels are called as their rung or, where rungs share a text, as its family."""
    for rung in (rung for rung in gpu_rungs() if rung.operation == operation):
        family = rung.kernel()
        assert family.startswith(rung.name) or rung.name.startswith(family)
        kernels = set()
        for problem in launch_every_rung.PROBLEMS[operation]:
            if rung.why_not(problem) is not None:
                continue
            config = rung.config(problem)
            steps = (*rung.preparation(problem, config), *rung.steps(problem, config))
            kernels |= {step.launch.kernel for step in steps}
        texts = with_names(rung)
        for name in kernels:
            assert name == family or name.startswith(f"{family}_"), (rung.name, name)
            assert re.search(rf"\b{name}\(", texts), (rung.name, name)


def test_texts_share_headers_and_include_no_other_text():
    texts = [path for ext in ("cu", "h") for path in HEADERS.rglob(f"*.{ext}")]
    assert len(texts) > 300
    for path in texts:
        found = re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8"))
        assert all(name.endswith(".h") for name in found), path
        # linear and matmul have what they share in gemm.
        others = {"linear": "matmul/", "matmul": "linear/", "gemm": ("linear/", "matmul/")}
        other = others.get(path.relative_to(HEADERS).parts[0])
        assert other is None or not any(name.startswith(other) for name in found), path


@functools.cache
def words():
    """All that texts read."""
    texts = [prelude(), *(rung.whole_text for rung in gpu_rungs())]
    return set().union(*(re.findall(r"\w+", text) for text in texts))


@pytest.mark.parametrize("operation", operations())
def test_a_macro_is_one_that_some_text_reads(operation):
    """A macro under another name would be none: to a text, what nobody has named is zero."""
    problems = [named(operation, name) for name in names(operation)]
    for rung in (rung for rung in gpu_rungs() if rung.operation == operation):
        problem = next((p for p in problems if rung.why_not(p) is None), None)
        if problem is not None:
            macros = {name.split("(")[0] for name in rung.macros(problem, rung.config(problem))}
            assert macros - {tunable.name for tunable in rung.tunables} <= words(), rung.name
