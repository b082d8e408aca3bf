"""The MNIST report: three layers, one image at a time, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rooftile.analysis.speedup import percent_saved
from rooftile.analysis.traffic import matmul_tile
from rooftile.devices.gpu import GpuDevice, Launch
from rooftile.ops import Conv2d
from rooftile.ops.layers.linear import Linear
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import table
from rooftile_papers.reproduce.profile import COPY_IN, COPY_OUT, log_window
from rooftile_papers.reproduce.timed import Entry, device_samples, measured, time_rungs
from rooftile_papers.reproduce.verdicts import by_ratio, by_size, by_value

_BATCH, _BATCH_OF_A_CPU = 1000, 100
_BATCHED = ("coarsened", "register_tile", "tiled")
AS_PUBLISHED = "weights in the window"
KERNEL = Path(__file__).parent / "kernels" / "block_sum.cu"
_INPUTS, _HIDDEN, _CLASSES = 6272, 512, 10
_CONV = {"naive": "naive", "constant": "constant", "constant and shared": "tile_constant"}
"""The report's kernels of the convolution, and our rungs that do the same."""


def _conv(batch: int, maps: int = 8) -> Conv2d:
    return Conv2d(batch, 1, 28, 28, maps, (5, 5), padding=(2, 2), activation="relu")


def _first(batch: int) -> Linear:
    return Linear(batch, _INPUTS, _HIDDEN, "relu")


def _second(batch: int) -> Linear:
    return Linear(batch, _HIDDEN, _CLASSES)


class MnistNetwork(Experiment):
    """Each layer's kernels, then the whole with copies, as a profiler lists it."""

    name = "mnist"
    title = "A network for MNIST, one image at a time"
    what = (
        "A convolution of 8 filters, a linear layer of 6272 to 512 and one of 512 to 10 on one "
        "image; the report does not state the filters' size (5 x 5 here), and the weights, "
        "12.8 MB, are copied in the timed window. It states a gain of 48.49 % where its times say "
        "33.3, and 512 times fewer accesses where only the input vector's are."
    )
    prefixes = ("mnist.",)
    needs: ClassVar = {"opencl": (8, 8), "cuda": (5, 2)}

    def measure(self, setting: Setting) -> Found:
        """The layers' kernels on one image, a profile of the whole, and a batch."""
        log = Log()
        gpu = setting.gpu
        assert gpu is not None, "it needs a device with kernels"
        seconds = 0.2 if setting.quick else 1.0
        many = _BATCH if setting.large else _BATCH_OF_A_CPU
        time_rungs(log, _entries(many), gpu, seconds=seconds, seed=setting.seed)
        with gpu.on():
            block_sums(log, gpu, seconds, setting.seed)
            for window, (batch, resident) in _windows(many).items():
                log_window(log, gpu, window, _layers(batch), resident=resident, seed=setting.seed)
            _claim_of_copies(log, _windows(many))
        _own_numbers(log)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """Kernels in ratio, the profile by size and share, two statements by calculation."""
        rulings: list[Ruling] = []
        for name in ("mnist.conv", "mnist.fc1", "mnist.fc2"):
            prefix = name.removeprefix("mnist.")
            ours = {
                figure.key: 1e3 * value
                for figure in table(name).figures
                if (value := found.value(f"{prefix}, {_first_run(figure.key)}")) is not None
            }
            rulings += by_ratio(table(name), ours)
        rulings += _calculated()
        return ruled([*rulings, *_profiled(found)], self)


def _first_run(key: str) -> str:
    """The kernel of a figure that is another run's: ``serial sum`` of ``serial sum, third run``."""
    return key.partition(", ")[0]


def _windows(many: int) -> dict[str, tuple[int, bool]]:
    """The profiles: of how many images, and whether their weights lie on the device already."""
    return {
        AS_PUBLISHED: (1, False),
        "weights resident": (1, True),
        f"{many} images, weights resident": (many, True),
    }


def _layers(batch: int) -> dict[str, Entry]:
    """The report's best kernels of the three layers; of a batch, those that share weights."""
    problems = {"conv": _conv(batch), "fc1": _first(batch), "fc2": _second(batch)}
    rungs = ("tile_constant", "tiled", "tiled") if batch == 1 else _BATCHED
    return {
        name: Entry(problem, rung)
        for (name, problem), rung in zip(problems.items(), rungs, strict=True)
    }


def _entries(batch: int) -> dict[str, Entry]:
    one = "one image"
    entries = {f"conv, {name}": Entry(_conv(1), rung, {}, one) for name, rung in _CONV.items()}
    entries["conv, a kernel per filter"] = Entry(_conv(1, maps=1), "naive", {}, one)
    for rung in ("naive", "tiled", "warp_rows"):
        entries[f"fc1, {rung}"] = Entry(_first(1), rung, {}, one)
    entries["fc2, tiled"] = Entry(_second(1), "tiled", {}, one)
    entries["fc2, warp_rows"] = Entry(_second(1), "warp_rows", {}, one)
    many = f"{batch} images"
    small = _layers(3)
    for name, entry in _layers(batch).items():
        entries[f"{name}, {many}"] = Entry(entry.problem, entry.rung, {}, many, small[name].problem)
    return entries


def block_sums(log: Log, gpu: GpuDevice, seconds: float, seed: int) -> None:
    """The report's sum by one thread, and the tree that it could have been."""
    generator = np.random.default_rng(seed)
    shapes = ((_HIDDEN,), (_HIDDEN, _CLASSES), (_CLASSES,))
    x, weights, bias = (generator.standard_normal(shape, np.float32) for shape in shapes)
    given = [gpu.upload(array) for array in (x, weights, bias)]
    expected = x.astype(np.float64) @ weights + bias
    for name, serial in (("serial sum", 1), ("tree", 0)):
        macros = {"INPUTS": _HIDDEN, "OUTPUTS": _CLASSES, "SERIAL": serial}
        program = gpu.compile(KERNEL.read_text(encoding="utf-8"), macros)
        launch = Launch("block_sum", (_CLASSES, 1, 1), (_HIDDEN, 1, 1))
        result = np.full(_CLASSES, np.nan, np.float32)
        out = gpu.upload(result)

        def call(program: Any = program, launch: Launch = launch, out: Any = out) -> None:
            program.launch(launch, *given, out)

        call()
        gpu.copy_out(out, result)
        budget = _HIDDEN * 2.0**-24 * (np.abs(x) @ np.abs(weights) + np.abs(bias))
        right = bool((np.abs(result - expected) <= budget).all())
        log.check(f"fc2, {name} is right", right)
        (samples,) = device_samples({name: call}, gpu, seconds).values()
        log.measured.append(measured(f"fc2, {name}", samples, "one image"))


def _claim_of_copies(log: Log, windows: Mapping[str, tuple[int, bool]]) -> None:
    """The effect of resident weights, and of many images, on the copies."""
    found, parts = log.found(), []
    for window, (images, _) in windows.items():
        of_it = [one for one in found.measured if one.name.startswith(f"{window}: ")]
        whole = sum(one.value for one in of_it if one.name.endswith(", in all"))
        shares = (found.value(f"{window}: {copy}, share") or 0.0 for copy in (COPY_IN, COPY_OUT))
        parts.append(f"{sum(shares):.0f} % of {1e3 * whole / images:.3g} us an image, {window}")
    most = (found.value(f"{AS_PUBLISHED}: {COPY_IN}, share") or 0.0) > 50
    log.claim("the network's time is that of its copies", most, "; ".join(parts))


def _own_numbers(log: Log) -> None:
    published = table("mnist.profile")
    least = published["longest copy, least"] / published["copies to the device, most"]
    log.claim(
        "copies take most of the time",
        least > 0.5,
        f"one copy, of the first linear layer's 12.8 MB, is at least {least:.0%} of all copies",
    )


def _calculated() -> list[Ruling]:
    conv = table("mnist.conv")
    (gain,) = table("mnist.conv gain").figures
    saved = percent_saved(conv["constant"], conv["constant and shared"])
    said = f"its own times say {saved:.1f} % less time, which is {100 * saved / (100 - saved):.1f}"
    rulings = [by_value(gain, saved, f"{said} % more rate")]
    (accesses,) = table("mnist.fc1 accesses").figures
    untiled = 2 * _INPUTS * _HIDDEN
    tiled = matmul_tile(1, _INPUTS, _HIDDEN, 1, _HIDDEN).loads
    fewer = untiled / tiled
    said = (
        f"it counts the input vector alone: with the matrix, which is read once either way, "
        f"{fewer:.2f} times fewer"
    )
    ruling = by_value(accesses, fewer, said)
    if tiled_vector(_HIDDEN) == accesses.value:
        ruling = Ruling(accesses, "measured something else", said, fewer)
    return [*rulings, ruling]


def tiled_vector(outputs: int) -> float:
    """The factor of fewer reads of the input vector if a block keeps it for all outputs."""
    return matmul_tile(1, _INPUTS, outputs, 1, 1).m_loads / _INPUTS


def _profiled(found: Found) -> list[Ruling]:
    window = AS_PUBLISHED
    ours: Mapping[str, float | None] = {
        "mnist.profile/copies to the device": found.value(f"{window}: copy to the device, in all"),
        "mnist.profile/longest copy": found.value(f"{window}: copy to the device, longest"),
        "mnist.profile/copies back": found.value(f"{window}: copy back, in all"),
        "mnist.profile/memset": found.value(f"{window}: memset, in all"),
        "mnist.calls/memset": found.value(f"{window}: memset, calls"),
        "mnist.calls/copies to the device": found.value(f"{window}: copy to the device, calls"),
        "mnist.share/copies to the device": found.value(f"{window}: copy to the device, share"),
    }
    rulings = []
    for name in ("mnist.profile", "mnist.calls", "mnist.share"):
        for figure in table(name).figures:
            value = ours.get(_first_run(figure.id))
            if value is not None:
                scale = 1e3 if figure.unit == "us" else 1.0
                rulings.append(by_size(figure, scale * value))
    return rulings


EXPERIMENT = MnistNetwork()
