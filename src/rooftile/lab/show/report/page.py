"""The page: its parts in order, in the template, with style and script; nothing from outside."""

from __future__ import annotations

import base64
import collections
import contextlib
import datetime
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from rooftile.devices.ceilings import package_version
from rooftile.errors import RooftileError
from rooftile.lab.measure.records import Row, contests, median
from rooftile.lab.show.report import (
    bars,
    errors,
    foreign,
    libraries,
    roofline,
    timeline,
    times,
    training,
    verdicts,
    words,
)
from rooftile.lab.show.report.chart import Figure
from rooftile.lab.show.report.content import Content, NetworkRun, Reproduced, Section, floor_ms
from rooftile.lab.show.report.heatmap import Heatmap, heatmaps
from rooftile.lab.show.report.training import TrainingRun
from rooftile.strategies import strategy

_HERE = Path(__file__).parent
_FACETS = ("device", "precision", "status")


@dataclass(frozen=True)
class NumberTile:
    """One of the numbers that a part begins with."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Part:
    """A ladder or a network, ready for the template."""

    id: str
    title: str
    device: str
    shape: str
    tiles: tuple[NumberTile, ...]
    figures: tuple[Figure, ...]
    heatmaps: tuple[Heatmap, ...]
    environment: tuple[tuple[str, str], ...]
    rungs: tuple[tuple[str, str], ...] = ()
    """Each rung's name and sentence."""
    claims: tuple[tuple[str, str], ...] = ()
    """A document's claims, and a sentence on whether each holds."""
    warnings: tuple[str, ...] = ()
    """Why times may not be trusted."""


def page(content: Content) -> str:
    """One self-contained HTML document, which bears the date of this call."""
    import jinja2

    loader = jinja2.FileSystemLoader(_HERE)
    template = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html")
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    titles = _titles(content.sections)
    ladders = enumerate(zip(content.sections, titles, strict=True), 1)
    parts = [_ladder(f"ladder-{k}", one, title) for k, (one, title) in ladders]
    parts += [_network(f"network-{k}", one) for k, one in enumerate(content.networks, 1)]
    runs = enumerate(content.experiments, 1)
    parts += [_experiment(f"experiment-{k}", one) for k, one in runs]
    parts += [_training(f"training-{k}", one) for k, one in enumerate(content.trainings, 1)]
    moment = datetime.datetime.now().astimezone()
    return template.render(
        title=_title(content),
        made=f"{moment:%d %B %Y, %H:%M}",
        version=package_version(),
        parts=parts,
        overview=_overview(content) if len(parts) > 1 else [],
        facets=_facets(content),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    """The hash by which the page's policy admits its own script and style, and no other."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _title(content: Content) -> str:
    names = dict.fromkeys(section.operation for section in content.sections)
    names |= dict.fromkeys(run.model for run in content.runs)
    names |= dict.fromkeys(run.experiment for run in content.experiments)
    machines = dict.fromkeys(section.hardware for section in content.sections)
    machines |= dict.fromkeys(run.hardware for run in (*content.runs, *content.experiments))
    where = [machine for machine in machines if machine]
    on = f" on {where[0]}" if len(where) == 1 else f" on {len(where)} devices" if where else ""
    return f"{', '.join(names)}{on}"


def _titles(sections: Sequence[Section]) -> list[str]:
    named = [words.name(section.problem) for section in sections]
    met = collections.Counter(
        (name, one.device, one.hardware) for name, one in zip(named, sections, strict=True)
    )
    return [
        f"{name}, {words.shape(one.problem)}" if met[name, one.device, one.hardware] > 1 else name
        for name, one in zip(named, sections, strict=True)
    ]


def _sentences(section: Section) -> Iterator[tuple[str, str]]:
    """The rungs of the ladder with what each does, as far as this release has them."""
    kind = section.device.partition(":")[0]
    names = dict.fromkeys(row.strategy for row in section.rows if row.kind == "strategy")
    for name in names:
        with contextlib.suppress(RooftileError):
            yield name, strategy(section.operation, name, kind).summary


def _ladder(id: str, section: Section, title: str) -> Part:
    made = (bars, roofline, errors, times) if section.rows else ()
    figures = [module.figure(section) for module in (*made, foreign)]
    return Part(
        id,
        title,
        f"{section.hardware} ({section.device})",
        words.shape(section.problem),
        tuple(_tiles(section)),
        tuple(figure for figure in figures if figure),
        tuple(heatmaps(section)),
        tuple(_environment(section)),
        tuple(_sentences(section)),
        warnings=section.warnings,
    )


def _tiles(section: Section) -> Iterator[NumberTile]:
    strategies = [row for row in section.passed if row.kind == "strategy"]
    if not strategies:
        return
    best = strategies[0]
    precision = "" if best.precision == "ieee" else f" ({best.precision})"
    yield NumberTile("Fastest", words.milliseconds(median(best)), f"{best.strategy}{precision}")
    if best.roof_fraction is not None:
        limit = "memory" if not section.compute_bound else "arithmetic"
        bound = f" set by {limit}" if section.roof else ""
        floor = f"floor {words.milliseconds(floor_ms(best) or 0.0)}{bound}"
        yield NumberTile("Of the roof", words.share(best.roof_fraction), floor)
    first = next(row for row in section.rows if row.kind == "strategy" and row.time_ms)
    if first is not best:
        yield _speed("Over the first rung", best, first)
    pairs = contests(section.rows)
    for own, peer in pairs:
        precision = f", {own.precision}" if len(pairs) > 1 else ""
        yield _speed(f"Over the best peer{precision}", own, peer)
    wrong = [row for row in section.rows if row.status in ("failed", "error")]
    if wrong:
        yield NumberTile("Wrong or broken", str(len(wrong)), "each says why below")


def _speed(name: str, best: Row, other: Row) -> NumberTile:
    ratio = median(other) / median(best)
    time = words.milliseconds(median(other))
    return NumberTile(name, f"{words.figures(ratio)} ×", f"{other.strategy}: {time}")


def _network(id: str, run: NetworkRun) -> Part:
    tiles = [
        NumberTile("Whole network", words.milliseconds(run.total_ms), f"batch of {run.batch}"),
        NumberTile("Images a second", f"{run.images_per_s:,.0f}", run.precision),
        NumberTile("Accuracy", f"{100 * run.accuracy:.2f} %", f"of {run.images:,} images"),
    ]
    tiles += [_speed("Over the best peer", own, peer) for own, peer in contests(run.contestants)]
    figures = tuple(made for made in (timeline.figure(run), libraries.figure(run)) if made)
    shape = f"batch {run.batch}, precision {run.precision}"
    where = f"{run.hardware} ({run.device})"
    return Part(
        id,
        run.model,
        where,
        shape,
        tuple(tiles),
        figures,
        (),
        (
            ("measured", words.moment(str(run.environment.get("time", "")))),
            *_machine(run.environment),
        ),
    )


def _experiment(id: str, run: Reproduced) -> Part:
    counted = collections.Counter(one["verdict"] for one in run.verdicts)
    right = sum(one["passed"] for one in run.checks)
    tiles = [
        NumberTile(verdict, str(count), "published numbers") for verdict, count in counted.items()
    ]
    if run.checks:
        verified = f"{right} of {len(run.checks)}"
        tiles.append(NumberTile("Results verified", verified, "before they are timed"))
    made = verdicts.figure(run)
    said = tuple(
        (one["words"], f"{'true' if one['true'] else 'not true'}: {one['because']}")
        for one in run.claims
    )
    notes = tuple(("note", note) for note in run.notes)
    moment = ("measured", words.moment(str(run.environment.get("time", ""))))
    return Part(
        id,
        f"Published experiment {run.experiment}",
        f"{run.hardware} ({run.device})",
        "smaller sizes and fewer samples" if run.quick else "",
        tuple(tiles),
        (made,) if made else (),
        (),
        (moment, *notes, *_machine(run.environment)),
        claims=said,
    )


def _training(id: str, run: TrainingRun) -> Part:
    last, epochs = run.epochs[-1], len(run.epochs)
    tiles = [NumberTile("Loss", words.figures(last["loss"], 4), f"of epoch {last['epoch']}")]
    if (accuracy := last["holdout_accuracy"]) is not None:
        tiles.append(NumberTile("Accuracy", f"{100 * accuracy:.2f} %", "on what was held out"))
    tiles.append(NumberTile("Time", f"{run.seconds:,.1f} s", f"{epochs} epochs"))
    batch = run.options["batch"] or "everything"
    shape = f"{run.options['optimiser']}, batch {batch}, precision {run.precision}"
    where = f"{run.hardware} ({run.device})"
    measured = words.moment(str(run.environment.get("time", "")))
    machine = (("measured", measured), *_machine(run.environment))
    name = f"training {run.model}"
    return Part(id, name, where, shape, tuple(tiles), training.figures(run), (), machine)


def _overview(content: Content) -> list[dict[str, str]]:
    lines = []
    for number, section in enumerate(content.sections, 1):
        lines.append({"id": f"ladder-{number}", **_ladder_line(section)})
    for number, run in enumerate(content.networks, 1):
        time, count = words.milliseconds(run.total_ms), f"{len(run.op_times_ms)} operations"
        line = _line(run.model, f"batch {run.batch}", run, "whole plan", time, count)
        lines.append({"id": f"network-{number}", **line})
    for number, one in enumerate(content.experiments, 1):
        measured = sum(verdict["verdict"] != "not measured" for verdict in one.verdicts)
        count = f"{measured} of {len(one.verdicts)} published numbers"
        line = _line(f"Published experiment {one.experiment}", "", one, "", "", count)
        lines.append({"id": f"experiment-{number}", **line})
    for number, made in enumerate(content.trainings, 1):
        title, shape = f"training {made.model}", f"precision {made.precision}"
        time, count = f"{made.seconds:,.1f} s", f"{len(made.epochs)} epochs"
        line = _line(title, shape, made, "whole training", time, count)
        lines.append({"id": f"training-{number}", **line})
    return lines


def _ladder_line(section: Section) -> dict[str, str]:
    best = next((row for row in section.passed if row.kind == "strategy"), None)
    known = best is not None and best.roof_fraction is not None
    return _line(
        words.name(section.problem),
        words.shape(section.problem),
        section,
        best.strategy if best else "none",
        words.milliseconds(median(best)) if best else "",
        section.timed,
        share=words.share(best.roof_fraction or 0.0) if best and known else "",
    )


def _line(
    title: str, shape: str, of: Any, fastest: str, time: str, count: str, *, share: str = ""
) -> dict[str, str]:
    return {
        "title": title,
        "shape": shape,
        "device": f"{of.hardware} ({of.device})",
        "fastest": fastest,
        "time": time,
        "share": share,
        "count": count,
    }


def _facets(content: Content) -> list[tuple[str, list[str]]]:
    sections = content.sections
    rows = [row for one in sections for row in one.rows + one.trials + one.foreign]
    found: dict[str, dict[str, None]] = {name: {} for name in _FACETS}
    for row in rows:
        for name in _FACETS:
            found[name][getattr(row, name)] = None
    for run in content.runs:
        values = {"device": run.device, "precision": run.precision, "status": "passed"}
        for name in _FACETS:
            found[name][values[name]] = None
    for one in content.experiments:
        for name, value in zip(_FACETS, (one.device, "ieee", "passed"), strict=True):
            found[name][value] = None
    return [(name, list(values)) for name, values in found.items() if len(values) > 1]


def _environment(section: Section) -> Iterator[tuple[str, str]]:
    if section.times:
        first, last = map(words.moment, section.times)
        yield "measured", first if first == last else f"{first} to {last}"
    if len(section.revisions) > 1:
        yield "revisions", ", ".join(section.revisions)
    yield from _machine(section.environment)
    yield from _flat(section.ceilings, "ceiling:")


def _machine(environment: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The environment without its time, which stands before it."""
    yield from _flat({key: value for key, value in environment.items() if key != "time"})


def _flat(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested names joined by a space; what is unknown is left out."""
    for key, value in found.items():
        name = f"{prefix} {words.label(str(key))}".strip()
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        elif isinstance(value, bool):
            yield name, "yes" if value else "no"
        elif isinstance(value, int | float):
            yield name, f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
        elif value is not None and value != []:
            yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)
