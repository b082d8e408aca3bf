"""The OpenCL report: four ways to read the rows of a 5x5 convolution."""

from __future__ import annotations

import itertools
from typing import ClassVar

from rooftile.ops import Conv2d, Pool
from rooftile_papers.reproduce.experiment import Experiment, Found, Log, Ruling, Setting, ruled
from rooftile_papers.reproduce.figures import table
from rooftile_papers.reproduce.timed import Entry, time_rungs
from rooftile_papers.reproduce.verdicts import by_ratio

VARIANTS = ("row_global", "row_private", "row_local", "row_pair")
GROUPS, ITEMS = (28, 56, 112), (64, 128, 256)
_WHOLE_ROW, _SHORT = 224, 16
_BEST = {"opencl": "im2col_register", "cuda": "im2col_register"}
_CHANNELS, _CHANNELS_OF_A_QUICK_GPU, _CHANNELS_OF_A_CPU, _FEW_CHANNELS = 256, 32, 4, 1
PUBLISHED, SHORT, RIGHTLY = "as published", "loops written out", "rightly"


class OpenclConvolution(Experiment):
    """Four variants, their sweep of groups and work-items, and what else computes the same."""

    name = "opencl-conv"
    title = "A 5x5 convolution in OpenCL, its rows read in four ways"
    what = (
        "A work-item owns a map, a group a row of the pooled image; a float4 window slides along "
        "rows that lie in global, private or local memory, or in local memory for two results. "
        "The report names 56 groups of 256 as the best, where its own table has 56 of 64; what it "
        "says to gain by unrolling mixes two baselines; and barriers inside the loop over maps are "
        "undefined where the items do not divide them."
    )
    prefixes = ("opencl.",)
    needs: ClassVar = {"opencl": (225, 45), "cuda": (25, 17)}

    def measure(self, setting: Setting) -> Found:
        """Variants and sweeps on whole rows, then with spans that stay in registers."""
        log = Log()
        problem = _problem(_channels(setting))
        small = Conv2d(1, 3, 12, 224, 70, (5, 5), padding=(2, 2), activation="relu", pool=_POOL)
        if problem.channels < _CHANNELS:
            log.notes.append(
                f"{problem.channels} of the {_CHANNELS} channels: the time is proportional to them"
            )
        entries = {
            # The small problem has fewer rows than the fewest groups.
            name: Entry(problem, rung, config, group, small, {**config, "GROUPS": GROUPS[0]})
            for name, rung, config, group in _runs(setting)
        }
        kind = setting.gpu.kind if setting.gpu else "opencl"
        entries["im2col_register, rightly"] = Entry(problem, _BEST[kind], {}, RIGHTLY, small)
        seconds = 0.3 if setting.large else 0.1
        times = time_rungs(log, entries, setting.gpu, seconds=seconds, seed=setting.seed)
        host = Log()
        # A processor has no time for all channels.
        fewer = _problem(_FEW_CHANNELS)
        on_cpu = {
            f"CPU, {name}": Entry(fewer, name, {}, "the CPU it was compared with", small)
            for name in ("threads", "map_vectors")
        }
        entries |= on_cpu
        times |= time_rungs(host, on_cpu, None, seconds=0.1, seed=setting.seed)
        log.checks += host.checks
        log.measured += host.measured
        for name, milliseconds in times.items():
            rate = 1e-6 * entries[name].problem.flops / milliseconds
            log.number(f"{name}, rate", rate, "GFLOP/s", "rates")
        _own_numbers(log)
        return log.found()

    def judge(self, found: Found) -> list[Ruling]:
        """Ratios among the variants and within the sweep; the machine is another one."""
        rates = {
            one.name.removesuffix(", rate"): one.value
            for one in found.measured
            if one.name.endswith(", rate")
        }
        plain = {name: rates[name] for name in VARIANTS if name in rates}
        sweep = {
            key: rates[name]
            for key in (one.key for one in table("opencl.sweep").figures)
            if (name := f"row_pair {key}") in rates
        }
        pair = {"before": "row_pair 56x64", "after": "row_pair 56x64, short"}
        written_out = {key: rates[name] for key, name in pair.items() if name in rates}
        rulings = by_ratio(table("opencl.variants"), plain)
        rulings += by_ratio(table("opencl.sweep"), sweep)
        rulings += by_ratio(table("opencl.unrolled"), written_out)
        return ruled(rulings, self)


_POOL = Pool.of("max", 2)


def _problem(channels: int) -> Conv2d:
    return Conv2d(1, channels, 224, 224, 256, (5, 5), padding=(2, 2), activation="relu", pool=_POOL)


def _channels(setting: Setting) -> int:
    if setting.large:
        return _CHANNELS_OF_A_QUICK_GPU if setting.quick else _CHANNELS
    return _FEW_CHANNELS if setting.quick else _CHANNELS_OF_A_CPU


def _runs(setting: Setting) -> list[tuple[str, str, dict[str, int], str]]:
    """Name, rung, config and group of every run.

    Quick ones sweep only the loops that are not written out, and on a CPU have one place of it.
    """

    def config(groups: int, items: int, span: int) -> dict[str, int]:
        return {"GROUPS": groups, "ITEMS": items, "SPAN": span}

    runs = [(name, name, config(56, 256, _WHOLE_ROW), PUBLISHED) for name in VARIANTS]
    one = (56, 64)
    sweep = tuple(itertools.product(GROUPS, ITEMS))
    if setting.quick and not setting.large:
        sweep = (one,)
    for groups, items in sweep:
        name = f"row_pair {groups}x{items}"
        runs.append((name, "row_pair", config(groups, items, _WHOLE_ROW), PUBLISHED))
        if not setting.quick or (groups, items) == one:
            runs.append((f"{name}, short", "row_pair", config(groups, items, _SHORT), SHORT))
    short = config(112, 64, _SHORT)
    runs += [(f"{name}, short", name, short, SHORT) for name in VARIANTS[:3]]
    return runs


def _own_numbers(log: Log) -> None:
    """The report's claims on its own table."""
    rates = {one.key: one.value for one in table("opencl.sweep").figures}
    best = max(rates, key=lambda key: rates[key])
    said = f"its table's best is {best} with {rates[best]} GFLOP/s; 56x256 has {rates['56x256']}"
    log.claim("56 groups of 256 are the best", best == "56x256", said)
    variants = {one.key: one.value for one in table("opencl.variants").figures}
    gain = variants["row_local"] / variants["row_private"]
    log.claim("local memory is faster than private memory", gain > 1, f"{gain:.1f} times as fast")


EXPERIMENT = OpenclConvolution()
