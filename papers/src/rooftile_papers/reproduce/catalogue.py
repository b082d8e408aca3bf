"""All experiments, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rooftile.devices.select import open_gpu, parse_device
from rooftile.errors import unknown
from rooftile.lab.measure.apart import runs_apart
from rooftile.lab.measure.environment import environment
from rooftile_papers.reproduce import (
    exam_tables,
    line_convolutions,
    milestones,
    mlp_trainer,
    mnist_network,
    opencl_convolution,
)
from rooftile_papers.reproduce.apart import Tell, measured_apart
from rooftile_papers.reproduce.experiment import Experiment, Found, Setting

_MODULES = (
    opencl_convolution,
    mnist_network,
    line_convolutions,
    mlp_trainer,
    milestones,
    exam_tables,
)
EXPERIMENTS: Mapping[str, Experiment] = {one.EXPERIMENT.name: one.EXPERIMENT for one in _MODULES}


def experiment(name: str) -> Experiment:
    """The experiment of a name.  Raises `InputError`."""
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def setting(device: str, *, quick: bool = False, seed: int = 0) -> Setting:
    """Open a device for experiments.  Raises `InputError`, `DeviceMissing`."""
    kind, _ = parse_device(device)
    return Setting(device, None if kind == "cpu" else open_gpu(device), quick, seed)


def runs_on(one: Experiment, place: Setting) -> bool:
    """True if an experiment runs on that kind of device."""
    return parse_device(place.device)[0] in one.needs


def record(one: Experiment, place: Setting, tell: Tell = lambda name, item: None) -> dict[str, Any]:
    """Run an experiment; a record that `judged` takes.

    ``tell`` is given each item as it comes from a processor that OpenCL drives, where the
    experiment runs in a child process: the name of a list of `Log`, and the item.  Raises
    `InputError` for a device that it does not run on.
    """
    if not runs_on(one, place):
        raise unknown("device", place.device, one.needs, more=f" for {one.name}")
    apart = place.gpu is not None and runs_apart(place.gpu)
    found = measured_apart(one, place, tell) if apart else one.measure(place)
    hardware = place.gpu.description.name if place.gpu else environment().cpu
    return {
        "experiment": one.name,
        "device": place.device,
        "hardware": hardware,
        "gpu": place.large,
        "quick": place.quick,
        "seed": place.seed,
        "environment": dataclasses.asdict(environment()),
        **found.to_json(),
        "verdicts": [ruling.to_json() for ruling in one.judge(found)],
    }


def judged(kept: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The verdicts that follow from a record's measurements, anew."""
    one = experiment(kept["experiment"])
    return [ruling.to_json() for ruling in one.judge(Found.from_json(kept))]
