"""Launches that begin before the one before them ends read nothing of it too early."""

from __future__ import annotations

import re

import pytest

from rooftile.strategies import ladder
from rooftile.strategies.contract.gpu import of_launches
from tests.launch_every_rung import PROBLEMS
from tests.support.preparing import with_names
from tests.support.storage import stored_by

# Where tiles of rows begin is known before the launch that this one waits for.
KNOWN_BEFORE = {
    (f"{rung}_finish_rows", "tile_rows") for rung in ("csr_merge", "coo_segments", "hybrid")
}
# What they restrict they read at places that depend on their products, to mend some of these.
LATE = {
    ("bulk_ieee", "bulk_ieee"),
    ("turned_ieee", "turned_ieee"),
    ("turned_ieee", "turned_ieee_finish"),
}


def overlapping(*operations):
    """(the rung's text, kernel) of each launch of a rung that overlaps."""
    found = {}
    for operation in operations or PROBLEMS:
        problems = PROBLEMS[operation]
        for rung in map(of_launches, ladder(operation, "cuda")):
            taken = next((one for one in problems if rung.why_not(one) is None), None)
            if taken is None:
                continue
            stored, _ = stored_by(rung, taken, dict.fromkeys(rung.stores, 1) if rung.narrow else {})
            for problem in dict.fromkeys((taken, stored)):
                config = rung.config(problem)
                steps = (*rung.preparation(problem, config), *rung.steps(problem, config))
                for step in steps:
                    if step.launch.overlaps:
                        found[rung.name, step.launch.kernel] = with_names(rung)
    return found


def test_what_comes_before_is_not_restricted():
    """A compiler moves loads of `const ... __restrict__` arrays before the wait."""
    found = overlapping()
    kernels = {kernel for _, kernel in found}
    assert kernels >= {"gathered_gemm_round_weights", "csr_merge_finish_rows", "bulk", "warp_rows"}
    assert ("windows", "windows") in found
    for (rung, kernel), text in found.items():
        given = re.search(rf"\b{kernel}\(([^;{{]*?)\)\s*{{", text)
        assert given is not None, (rung, kernel)
        early = re.findall(r"const[^,]*__restrict__ (\w+)", given[1])
        in_macros = re.findall(r"#define \w+_ARGUMENTS? [^\n]*const[^,\n]*__restrict__ (\w+)", text)
        restricted = {(kernel, name) for name in (*early, *in_macros)} - KNOWN_BEFORE
        assert not restricted or (rung, kernel) in LATE, (rung, kernel, early)


STEP = (
    "bias_activation", "gather_batch", "linear_cross_entropy", "linear_weights_gradient",
    "optimiser_step", "record_mean",
)  # fmt: skip
"""Operations of a training step alone, whose launches overlap."""


@pytest.mark.parametrize("operation", STEP)
def test_nor_is_it_in_a_training_step(operation):
    found = overlapping(operation)
    assert found
    for (rung, kernel), text in found.items():
        body = re.search(rf"\b{kernel}\([^;{{]*?\)\s*{{([^}}]*)", text)
        assert body is not None, (rung, kernel)
        assert re.search(r"GRIDDEPCONTROL_WAIT(?:_SETTLED)?\(\);", body[1]), (rung, kernel)


def test_what_is_behind_a_convolution_is_behind_all_before_it():
    """`head` and `two_layers` read parameters before they wait: a convolution that lies between
    them and the step before lets none begin before it waited for that."""
    found = {(rung, kernel): text for (rung, kernel), text in overlapping("conv2d").items()
             if rung.startswith(kernel)}  # fmt: skip
    assert found
    for (_, name), text in found.items():
        kernel = re.search(rf"__global__[^;{{]*\b{name}\([^;{{]*\)\s*{{", text)
        assert kernel is not None
        body = text[kernel.start() :].partition("\n}")[0]
        assert "GRIDDEPCONTROL_LAUNCH();" not in body.partition("GRIDDEPCONTROL_WAIT();")[0]
