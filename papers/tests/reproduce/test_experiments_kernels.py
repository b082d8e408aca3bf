"""The experiments' own kernel texts, wrong ones among them, and the course's code errors."""

from __future__ import annotations

import shutil
from copy import copy
from dataclasses import replace

import pytest

from rooftile.lab.judge.verify import verify
from rooftile.ops.patterns.conv1d import Conv1d
from rooftile.ops.patterns.elementwise import Elementwise
from rooftile.strategies import strategy
from rooftile_papers.reproduce import fused_products, milestone_layers, mlp_trainer, mnist_network
from rooftile_papers.reproduce.experiment import Log, Setting
from rooftile_papers.reproduce.fused_products import precision
from rooftile_papers.reproduce.milestone_accuracy import measure_accuracy

SMALL = fused_products.Layer("layer 1", 2, 12, 3)
CHOSEN = ("baseline", "constant", "unrolled + tile 8", "streams")


def layer_log(gpu, chosen=CHOSEN):
    log = Log()
    with gpu.on():
        one = milestone_layers.MeasuredLayer(log, gpu, SMALL, 66, 0)
        one.run({name: fused_products.variants()[name] for name in chosen}, 0.0)
    return log


def test_every_option_of_the_fused_product_is_right(opencl_device):
    log = layer_log(opencl_device)
    assert len(log.checks) == len(CHOSEN)
    assert all(check.passed for check in log.checks)
    names = {one.name for one in log.measured}
    assert names >= {f"layer 1 of 66, {name}" for name in CHOSEN}
    assert names >= {"layer 1 of 66, launch alone", "layer 1 of 66, a slice's permute"}


def test_every_variant_is_right_on_a_gpu(cuda_device):
    chosen = fused_products.variants()
    log = layer_log(cuda_device, tuple(chosen))
    assert [check.said for check in log.checks if not check.passed] == []
    assert len(log.checks) == len(chosen)


@pytest.mark.parametrize(
    ("text", "right", "wrong", "variant"),
    [
        ("product.h", "k / MASK % MASK", "k % MASK", "baseline"),
        # The report's permutation reads another array.
        ("stages.cu", "product[map * columns", "product[columns", "streams"),
    ],
)
def test_a_wrong_product_is_caught(
    text, right, wrong, variant, opencl_device, monkeypatch, tmp_path
):
    folder = tmp_path / "kernels"
    shutil.copytree(fused_products.KERNELS, folder)
    changed = (folder / text).read_text(encoding="utf-8")
    assert right in changed
    (folder / text).write_text(changed.replace(right, wrong), encoding="utf-8")
    monkeypatch.setattr(fused_products, "KERNELS", folder)
    monkeypatch.setattr(fused_products, "FOLDERS", (folder, *fused_products.FOLDERS[1:]))
    log = layer_log(opencl_device, (variant,))
    assert [check.passed for check in log.checks] == [False]
    assert not log.measured


def test_options_are_combined_but_not_with_themselves():
    found = fused_products.variants()
    assert {"TILE": 32, "RESTRICTED": 1}.items() <= found["restrict + tile 32"].items()
    assert "tile 8 + tile 32" not in found
    options = len(fused_products.OPTIONS)
    pairs = fused_products.pairs()
    assert len(pairs) == options * (options - 1) / 2
    assert len(found) == 1 + options + sum(not isinstance(one, str) for one in pairs.values())
    assert all(precision(one) == "ieee" for one in fused_products.variants("opencl").values())


def test_the_networks_accuracy_is_that_of_its_weights():
    log = Log()
    measure_accuracy(log, Setting("cpu", None, quick=True), (100, 10**9))
    (accuracy,) = log.measured
    assert accuracy.name == "accuracy of 100, ieee"
    assert 0.8 < accuracy.value <= 1
    assert log.notes


def test_the_sums_of_a_block_are_right_and_wrong_ones_are_caught(
    opencl_device, monkeypatch, tmp_path
):
    log = Log()
    mnist_network.block_sums(log, opencl_device, 0.0, 0)
    assert [check.passed for check in log.checks] == [True, True]
    text = mnist_network.KERNEL.read_text(encoding="utf-8")
    wrong = tmp_path / "block_sum.cu"
    wrong.write_text(text.replace("k = 0; k <", "k = 1; k <"), encoding="utf-8")
    monkeypatch.setattr(mnist_network, "KERNEL", wrong)
    log = Log()
    mnist_network.block_sums(log, opencl_device, 0.0, 0)
    assert [check.passed for check in log.checks] == [False, True]


@pytest.mark.parametrize(
    ("name", "problem"),
    [("elementwise", Elementwise("add", (1000,))), ("conv1d", Conv1d(1000, 3, "interior"))],
)
def test_a_ceiling_of_an_integer_quotient_is_caught(name, problem, opencl_device):
    """The course's vector addition, and the deck's convolution: the last block is missing."""
    rung = copy(strategy(name, "naive", "opencl"))
    right = rung.steps

    def floored(given, config):
        (step,) = right(given, config)
        grid = given.arrays[0].size // config["BLOCK"], 1, 1
        return (replace(step, launch=replace(step.launch, grid=grid)),)

    rung.steps = floored
    config = {"BLOCK": 256}
    assert not verify(problem, rung, device=opencl_device, config=config, neighbours=False).passed


def test_the_trainer_waits_for_its_operation(monkeypatch):
    monkeypatch.setattr(mlp_trainer, "operations", dict)
    found = mlp_trainer.EXPERIMENT.measure(Setting("cpu", None, quick=True))
    assert "no operation" in found.notes[0]
    assert [claim.true for claim in found.claims] == [False, False]
    (accuracy,) = [r for r in mlp_trainer.EXPERIMENT.judge(found) if r.figure.key == "printed"]
    assert accuracy.word == "cannot be"
    assert accuracy.ours == pytest.approx(100 * 163 / 275)
