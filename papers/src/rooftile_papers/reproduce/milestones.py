"""The milestone report: options of a fused product of matrices, singly and in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from rooftile.analysis.launch import covering
from rooftile.analysis.machines import machine
from rooftile.ops import Conv2d
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import Figure, table, tables
from rooftile_papers.reproduce.fused_products import LAYERS, MASK, OPTIONS, Config, pairs, variants
from rooftile_papers.reproduce.milestone_accuracy import measure_accuracy
from rooftile_papers.reproduce.milestone_copies import measure_with_copies
from rooftile_papers.reproduce.milestone_counters import count
from rooftile_papers.reproduce.milestone_layers import MeasuredLayer
from rooftile_papers.reproduce.timed import Entry, time_rungs
from rooftile_papers.reproduce.verdicts import ALIKE, by_ratio, by_size, by_value

_BATCHES = (100, 1000, 10000)
_COUNTED_BATCH = 1000
_SLICE, _TILE = 2500, 16
"""Images of a stream, of which there are four, and the width of the report's tiles."""
_SWITCHES = {"plain": (0, 0), "restrict": (1, 0), "unrolled": (0, 1), "both": (1, 1)}
_PUBLISHED = [name for name in OPTIONS if name not in ("streams", "fp16, every warp")]
"""Options whose times the report prints, and measured."""


class Milestones(Experiment):
    """Every option of the fused kernel alone, and with every other one."""

    name = "milestones"
    title = "Options of a fused convolution, singly and in pairs"
    what = (
        "Two convolutions of 7 x 7 on images of 86 x 86 as a product whose second matrix is never "
        "stored, in batches of 100 to 10,000; each section changes one thing and asks whether it "
        "works with the others. With streams the timer brackets launches, not work; differences of "
        "restricted pointers are noise; the sweep repeats a table digit for digit; one warp of the "
        "eight of the FP16 kernel multiplies."
    )
    prefixes = ("milestones.",)
    needs: ClassVar = {"opencl": (100, 28), "cuda": (47, 15)}
    unmeasured: ClassVar = {
        "milestones.ipc": "the report does not say which widths its two numbers are of",
    }

    def measure(self, setting: Setting) -> Found:
        """Both layers in every variant; the pairs on one batch."""
        log = Log()
        gpu = setting.gpu
        assert gpu is not None, "it needs a device with kernels"
        batches = _batches(setting)
        left = [str(batch) for batch in _BATCHES if batch not in batches]
        if left:
            log.notes.append(f"batches of {', '.join(left)} are left out")
        chosen = _chosen(log, setting, gpu.kind)
        with gpu.on():
            for layer in LAYERS:
                for batch in batches:
                    last = batch == batches[-1]
                    names = {k: v for k, v in chosen.items() if last or " + " not in k}
                    one = MeasuredLayer(log, gpu, layer, batch, setting.seed)
                    one.run(names, 0.1 if setting.quick else 0.15)
                    if last and gpu.kind == "cuda":
                        measure_with_copies(one)
        time_rungs(log, _direct(batches[0]), gpu, seconds=0.1, seed=setting.seed)
        _count(log, setting)
        _claim(log, batches[-1])
        measure_accuracy(log, setting, batches)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """Options in ratio to the baseline; what no machine can do, by calculation."""
        rulings: list[Ruling] = []
        baseline = _times(found, "baseline")
        rulings += by_ratio(table("milestones.baseline"), baseline)
        for option in _PUBLISHED:
            rulings += _against_baseline(option, _times(found, option), baseline)
        for figure in table("milestones.streams").figures:
            rulings.append(_stream_time(figure, found))
        rulings += _tensor_core_text()
        rulings += _profiled_kernel()
        rulings += _stream_grids()
        rulings += _stages(found)
        rulings += _counted(found)
        rulings += _totals()
        rulings += _accuracy(found)
        return ruled(rulings, self)


def _batches(setting: Setting) -> tuple[int, ...]:
    if not setting.large:
        return _BATCHES[:1]
    return _BATCHES[:2] if setting.quick else _BATCHES


def _direct(batch: int) -> dict[str, Entry]:
    """Restricted pointers and written-out taps apart, in the direct kernel."""
    entries = {}
    for layer in LAYERS:
        problem, small = (
            Conv2d(n, layer.channels, layer.size, layer.size, layer.maps, (MASK, MASK))
            for n in (batch, 2)
        )
        for name, (restricted, unrolled) in _SWITCHES.items():
            config = {"RESTRICTED": restricted, "UNROLLED": unrolled}
            entries[f"{layer.name} of {batch}, direct kernel, {name}"] = Entry(
                problem, "restrict_unroll", config, "direct kernel", small
            )
    return entries


def _claim(log: Log, batch: int) -> None:
    """The report's conclusions on streams and restricted pointers."""
    found, label = log.found(), f"{LAYERS[0].name} of {batch}"
    whole, restricted = (found.value(f"{label}, {name}") for name in ("baseline", "restrict"))
    part = found.value(f"{label}, a slice's product")
    if whole and part:
        said = f"it computes a quarter of the batch: four of them take {4 * part / whole:.2f} times"
        log.claim("each kernel is four times as fast with streams", 4 * part < whole / 2, said)
    if whole and restricted:
        there = table("milestones.restrict")[f"{LAYERS[0].name} of 10000"]
        before = table("milestones.baseline")[f"{LAYERS[0].name} of 10000"]
        said = f"by {there / before - 1:+.2%} there, by {restricted / whole - 1:+.2%} here"
        log.claim("restricted pointers change the time", abs(restricted / whole - 1) > 0.01, said)


def _count(log: Log, setting: Setting) -> None:
    """A profiler's counts, where there is one."""
    if setting.gpu is None or setting.gpu.kind != "cuda":
        log.notes.append("speed-of-light shares and hit rates want CUDA's profiler")
        return
    count(log, _COUNTED_BATCH, setting.device, setting.seed)


def _chosen(log: Log, setting: Setting, kind: str) -> dict[str, Config]:
    """The variants that are run, and a note on those that are not."""
    chosen = variants(kind)
    if kind != "cuda":
        log.notes.append("TF32 and FP16 want CUDA, and so do streams that run at once")
    if setting.quick:
        chosen = {name: config for name, config in chosen.items() if " + " not in name}
        log.notes.append("pairs of options are left out")
    else:
        never = [f"{name} ({why})" for name, why in pairs().items() if isinstance(why, str)]
        log.notes.append(f"pairs that cannot be: {'; '.join(never)}")
    return chosen


def _times(found: Found, variant: str) -> dict[str, float]:
    """Milliseconds by the keys of the report's tables."""
    labels = [f"{layer.name} of {batch}" for layer in LAYERS for batch in _BATCHES]
    return {
        label: value
        for label in labels
        if (value := found.value(f"{label}, {variant}")) is not None
    }


def _against_baseline(
    option: str, ours: Mapping[str, float], baseline: Mapping[str, float]
) -> list[Ruling]:
    """The option's changes, there and here."""
    published = table("milestones.baseline")
    rulings = []
    for figure in table(f"milestones.{option}").figures:
        if figure.key not in ours:
            continue
        there = figure.value / published[figure.key]
        here = ours[figure.key] / baseline[figure.key]
        said = f"{there:.2f} times the baseline's time there, {here:.2f} times here"
        alike = abs(there - here) <= ALIKE * max(there, here)
        word = "holds in ratio" if alike else "differs here"
        rulings.append(Ruling(figure, word, said, ours[figure.key]))  # type: ignore[arg-type]
    return rulings


def _stream_time(figure: Figure, found: Found) -> Ruling:
    """The rate that the work would have had, against the peak of the report's GPU."""
    name, _, batch = figure.key.partition(" of ")
    layer = next(one for one in LAYERS if one.name == name)
    rate = 1e-6 * layer.flops(int(batch)) / figure.value
    peak = machine("a40").peak_gflops
    said = (
        f"the work in that time would be {1e-3 * rate:,.0f} TFLOP/s, {rate / peak:.1f} times the "
        "peak of an A40: launches were timed, not the work"
    )
    word = "measured something else" if rate > peak else "differs here"
    ours = found.value(f"{figure.key}, launch alone")
    return Ruling(figure, word, said, ours)  # type: ignore[arg-type]


def _tensor_core_text() -> list[Ruling]:
    """The text's sums of both layers and its profile of FP16, against the tables."""
    keys = [f"{layer.name} of 10000" for layer in LAYERS]
    sums = {
        "before": sum(table("milestones.baseline")[key] for key in keys),
        "after": sum(table("milestones.tf32")[key] for key in keys),
    }
    rulings = []
    for figure in table("milestones.tf32 text").figures:
        ours = sums[figure.key.removeprefix("profiler ")]
        said = f"its tables add up to {ours:.1f} ms, of which layer 1 did not change"
        rulings.append(by_value(figure, ours, said, same=0.01))
    (half,) = table("milestones.fp16 profile").figures
    times = [table("milestones.fp16")[key] for key in keys]
    said = f"its table has {times[0]:.1f} and {times[1]:.1f} ms for the layers of 10,000"
    return [*rulings, by_value(half, max(times), said)]


def _profiled_kernel() -> list[Ruling]:
    """The profiled kernel's cycles and its time, which are one number at the profiler's clock."""
    (duration,), (cycles,) = (table(f"milestones.tf32 {n}").figures for n in ("profile", "cycles"))
    base = machine("a40").base_mhz or 0
    clock = cycles.value / duration.value * 1e-3
    said = (
        f"its cycles in its time are {clock:.0f} MHz, an A40's base clock, to which the profiler "
        "holds it: times of profiled runs and of others cannot be compared"
    )
    rulings = (
        by_value(duration, cycles.value / base * 1e-3, said, same=0.001),
        by_value(cycles, duration.value * base * 1e3, said, same=0.001),
    )
    return [replace(one, reason=said) for one in rulings]


def _stages(found: Found) -> list[Ruling]:
    """The kernels of a slice, and what a layer takes with its copies."""
    times: dict[str, float] = {}
    for figure in table("milestones.stream profile").figures:
        layer, _, stage = figure.key.partition(", ")[0].rpartition(" ")
        value = found.value(f"{layer} of 10000, a slice's {stage}")
        if value is not None:
            times[figure.key] = value
    rulings = by_ratio(table("milestones.stream profile"), times)
    for figure in table("milestones.stream registers").figures:
        for batch in reversed(_BATCHES):
            ours = found.value(f"layer 1 of {batch}, registers of {figure.key}")
            if ours is not None:
                rulings.append(by_size(figure, ours))
                break
    for figure in table("milestones.streams layer").figures:
        name = f"{figure.key} of 10000, pageable memory, four streams, copies included"
        ours = found.value(name)
        if ours is not None:
            rulings.append(by_size(figure, ours))
    return rulings


def _counted(found: Found) -> list[Ruling]:
    """A profiler's counts."""
    (figure,) = table("milestones.occupancy").figures
    ours = found.value(f"layer 1 of {_COUNTED_BATCH}, unrolled: achieved occupancy")
    return [] if ours is None else [by_size(figure, ours)]


def _stream_grids() -> list[Ruling]:
    """Blocks of the profiled kernels, by the report's own sizes."""
    ours = {}
    for layer in LAYERS:
        tiles = covering((layer.out, layer.out), (_TILE, _TILE)).block_count
        ours[f"{layer.name} unroll"] = tiles
        ours[f"{layer.name} product"] = _SLICE * layer.out**2 // _TILE
    said = f"{_SLICE} images a stream in tiles of {_TILE}: digits were misread"
    return [
        by_value(figure, ours[figure.key], said, same=0.001)
        for figure in table("milestones.stream grids").figures
    ]


def _totals() -> list[Ruling]:
    """The whole program's times, of which the two layers are the least part."""
    baseline = table("milestones.baseline")
    rulings = []
    for name, one in tables().items():
        if not name.startswith("milestones.") or not name.endswith(" total"):
            continue
        for figure in one.figures:
            layers = sum(baseline[f"{layer.name} of {figure.key}"] for layer in LAYERS)
            share = 1e-3 * layers / figure.value
            said = (
                f"the baseline's two layers take {layers:.1f} ms, {share:.2%} of it: what an "
                "option changes of them is not seen in the whole"
            )
            rulings.append(Ruling(figure, "measured something else", said))
    return rulings


def _accuracy(found: Found) -> list[Ruling]:
    """The same layers with weights of ours; and why accuracy was no proof."""
    ends = ", largest difference"
    most = [one.value for one in found.measured if one.name.endswith(ends)]
    shown = (
        "equal accuracy does not show equal results: those of TF32 and FP16 are up to "
        f"{max(most):.2g} from the baseline's here"
        if most
        else "nothing was run in TF32 or FP16 here"
    )
    rulings = []
    for figure in table("milestones.accuracy").figures:
        ours = found.value(f"accuracy of {figure.key}, ieee")
        if ours is None:
            said = f"its network's weights are not published; {shown}"
            rulings.append(Ruling(figure, "not measured", said))
        else:
            said = f"the same layers with weights of ours; {shown}"
            rulings.append(replace(by_size(figure, ours), reason=said))
    return rulings


EXPERIMENT = Milestones()
