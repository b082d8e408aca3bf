"""The script for compute-sanitizer leaves no rung out."""

import collections
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rooftile.errors import InputError
from rooftile.ops.registry import operations
from rooftile.strategies import ladder
from tests import launch_every_rung as script

ROOT = Path(__file__).parents[1]


def _on_cuda() -> list[str]:
    """The operations that have a ladder there."""
    with_ladder = []
    for name in operations():
        try:
            ladder(name, "cuda")
        except InputError:
            continue
        with_ladder.append(name)
    return with_ladder


@functools.cache
def _launched() -> dict[str, set[str]]:
    """Names of the rungs that are launched, by operation."""
    found = collections.defaultdict(set)
    for rung, *_ in script.launches([]):
        found[rung.operation].add(rung.name)
    return found


@pytest.mark.parametrize("operation", _on_cuda())
def test_every_cuda_rung_is_launched(operation):
    assert _launched()[operation] == {rung.name for rung in ladder(operation, "cuda")}


def test_the_script_that_make_sanitize_runs_starts():
    (path,) = re.findall(r"bin/python (tests/\S+)", (ROOT / "Makefile").read_text())
    # A path that the tests add is none of the script's.
    paths = [one for one in sys.path if one and Path(one).resolve() not in (ROOT, ROOT / "tests")]
    run = subprocess.run(
        [sys.executable, path, "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "--part K/N" in run.stdout


def test_words_pick_rungs_by_how_their_names_begin():
    picked = {rung.name for rung, *_ in script.launches(["front", "mma_i"])}
    assert picked == {"front_fp16", "front_bf16", "mma_ieee"}


def test_parts_together_are_the_whole():
    def told(*part):
        return sorted(
            f"{launched[0].name} {launched[1:]}" for launched in script.launches([], *part)
        )

    assert told() == sorted(told(1, 3) + told(2, 3) + told(3, 3))


def test_formats_and_infinities_are_among_the_launches():
    found = [
        (problem is not problem.plain, special)
        for _, problem, special in script.launches(["pool_folded_fp16"])
    ]
    assert (True, False) in found
    assert (False, True) in found


def test_one_launch_of_each_kind_runs(cuda_device):
    for rung, problem, special in script.launches(["direct_tile_fp16", "warp_rows"]):
        script.launch(cuda_device, rung, problem, special)


def test_matrices_are_converted_and_solved_with(opencl_device):
    assert script.matrices("opencl") == 9 * 8 + 4
