"""A page's content, from the objects that ``climb``, ``run``, ``train``, ``reproduce`` and
``history`` print as JSON, or from the history's own records."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rooftile.errors import InputError
from rooftile.lab.measure.formed import formed
from rooftile.lab.measure.history.store import Record
from rooftile.lab.measure.records import Ladder, Row, median, row_from
from rooftile.lab.show.report.content import (
    Content,
    NetworkRun,
    Reproduced,
    Section,
    hardware_of,
)
from rooftile.lab.show.report.training import TrainingRun

_FOREIGN = ("audit", "submit")
"""The commands whose rows are kernels of others."""
_EXPECTED = "JSON that rooftile climb, run, train, reproduce or history printed with --json"

UNFIT = (OSError, ValueError, TypeError, KeyError, AttributeError)
"""Exceptions of reading another kind of file, or one with other objects."""


def read_files(paths: Iterable[Path]) -> Content:
    """The files' content. Raises `InputError` for a file of another kind."""
    found = Content()
    for path in paths:
        try:
            found += content(json.loads(path.read_text(encoding="utf-8")))
        except UNFIT as error:
            what = f"{path} (no {error})" if type(error) is KeyError else f"{path} ({error})"
            raise InputError("FILE", what, _EXPECTED) from error
    return found


def content(value: Mapping[str, Any]) -> Content:
    """The content of one JSON object. Raises one of `UNFIT` for another kind."""
    if "epochs" in value:
        return Content(trainings=(_training(value),))
    if "op_times_ms" in value:
        return Content(networks=(_network(value),))
    if "records" in value and any("experiment" in record for record in value["records"]):
        return Content(experiments=tuple(map(_reproduced, value["records"])))
    if "records" in value:
        return from_records([Record.from_json(record) for record in value["records"]])
    if "problem" in value and "rows" in value:
        return Content((_section(value),))
    raise ValueError(f"an object with the keys {', '.join(sorted(value)[:6]) or '(none)'}")


def from_ladder(ladder: Ladder) -> Content:
    """A ladder that was just climbed."""
    return content(ladder.to_json())


def from_records(records: Sequence[Record]) -> Content:
    """For each problem on each device, the newest row of each strategy and all trials."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        shape = json.dumps(record.problem, sort_keys=True)
        key = (record.operation, shape, f"{record.batch:09}", record.device, record.hardware)
        groups.setdefault(key, []).append(record)
    return Content(tuple(_group(groups[key]) for key in sorted(groups)))


def legible(records: Sequence[Record]) -> list[Record]:
    """The records whose rows can be shown: a history may hold what no command of today writes."""
    found = []
    for record in records:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            record.to_row()
            found.append(record)
    return found


def _group(records: list[Record]) -> Section:
    own = [record for record in records if record.command not in ("tune", *_FOREIGN)]
    last = records[-1]
    known = [roof for record in records if (roof := record.environment.get("ceilings"))]
    return _checked(
        Section(
            problem={"operation": last.operation, "batch": last.batch, **last.problem},
            device=last.device,
            hardware=last.hardware,
            environment={
                key: value for key, value in last.environment.items() if key != "ceilings"
            },
            ceilings=known[-1] if known else {},
            rows=_newest(own),
            trials=tuple(row_from(record.row) for record in records if record.command == "tune"),
            foreign=_newest([record for record in records if record.command in _FOREIGN]),
            times=(records[0].time, last.time),
            revisions=tuple(
                dict.fromkeys(record.revision for record in records if record.revision)
            ),
        )
    )


def _newest(records: Iterable[Record]) -> tuple[Row, ...]:
    """The newest row of each strategy, peer or kernel at each precision."""
    newest: dict[tuple[str, str, str], tuple[str, Row]] = {}
    for record in records:
        key, row = (record.kind, record.strategy, record.precision), row_from(record.row)
        run, kept = newest.get(key, ("", row))
        # The last round of a tuning times the winner next to the default: show the winner.
        if run != record.run or median(row) < median(kept):
            newest[key] = (record.run, row)
    return tuple(row for _, row in newest.values())


def _section(value: Mapping[str, Any]) -> Section:
    environment = dict(value["environment"])
    revision = environment.get("revision")
    return _checked(
        Section(
            problem=formed(dict[str, Any], value["problem"], "problem"),
            device=formed(str, value["device"], "device"),
            hardware=hardware_of(environment),
            environment=environment,
            ceilings=value["ceilings"],
            rows=tuple(row_from(row) for row in value["rows"]),
            times=(environment["time"],) * 2 if "time" in environment else (),
            revisions=(revision,) if revision else (),
        )
    )


def _checked(section: Section) -> Section:
    """A section whose problem, ceilings and times can be shown.  Raises `ValueError` otherwise."""
    formed(str, section.problem.get("operation"), "the problem's operation")
    formed(tuple[str, ...], section.times, "the environment's time")
    formed(tuple[str, ...], section.revisions, "the environment's revision")
    formed(dict[str, Any], section.ceilings, "ceilings")
    roof = section.roof
    if roof is not None and not min(roof.bandwidth_gbps, roof.rate_gflops()) > 0:
        raise ValueError("ceilings are above nought")
    return section


def _network(value: Mapping[str, Any]) -> NetworkRun:
    names = [field.name for field in fields(NetworkRun) if field.name not in ("peers", "plan")]
    made = formed(NetworkRun, {name: value[name] for name in names})
    peers = tuple(row_from(row) for row in value.get("peers", ()))
    plan = row_from(value["plan"]) if "plan" in value else None
    return replace(made, peers=peers, plan=plan)


def _reproduced(value: Mapping[str, Any]) -> Reproduced:
    names = [field.name for field in fields(Reproduced)]
    return formed(Reproduced, {name: value[name] for name in names})


def _training(value: Mapping[str, Any]) -> TrainingRun:
    if not value["epochs"]:
        raise ValueError("a training without an epoch")
    profile = value.get("profile", {})
    names = ("model", "device", "options", "epochs", "seconds", "environment")
    given = {name: value[name] for name in names} | {
        name: profile[name] for name in ("phases", "timeline") if name in profile
    }
    made = formed(TrainingRun, {**given, "hardware": hardware_of(value["environment"])})
    told = {(phase["phase"], phase["layer"]) for phase in made.phases}
    if not told.issuperset((span["phase"], span["layer"]) for span in made.timeline):
        raise ValueError("the profile's timeline has a phase that its phases lack")
    return made
