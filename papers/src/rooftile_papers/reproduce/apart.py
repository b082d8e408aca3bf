"""An experiment on a processor that OpenCL drives: in a child process, whose crash is a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rooftile.devices.select import open_gpu
from rooftile.lab.measure.process import CannotSend, Child, Ended
from rooftile_papers.reproduce.experiment import (
    BEGUN,
    Check,
    Experiment,
    Found,
    Log,
    Setting,
    hear,
    left_out,
)

Tell = Callable[[str, Any], None]


def measured_apart(one: Experiment, place: Setting, tell: Tell) -> Found:
    """An experiment's measurements. Where a part of it ends its process, that part is a check that
    failed, and a new process measures the others; where no part is known to blame, the measurements
    until then stay, with a failed check.

    ``tell`` is given each item as it comes, see `rooftile_papers.reproduce.experiment.hear`, and
    none a second time that is measured anew.
    """
    blamed: dict[str, str] = {}
    told: set[tuple[str, str]] = set()
    while True:
        came, begun = Log(), [""]

        def heard(item: tuple[str, Any], came: Log = came, begun: list[str] = begun) -> None:
            kind, made = item
            if kind == BEGUN:
                begun[0] = made
                return
            getattr(came, kind).append(made)
            name = kind, getattr(made, "name", str(made))
            if name not in told:
                told.add(name)
                tell(kind, made)

        with Child() as child:
            try:
                asked = place.device, place.quick, place.seed, blamed
                found: Found = child.call(_measured, one, *asked, hear=heard)
                return found
            except CannotSend:
                return one.measure(place)
            except Ended as ended:
                said = f"the process ended {ended}"
        if not begun[0] or begun[0] in blamed:
            came.checks.append(Check("crashed", False, f"{said}{_behind(came)}"))
            return came.found()
        blamed[begun[0]] = said


def _behind(came: Log) -> str:
    """The last item before the end."""
    names = [one.name for one in came.checks] + [one.name for one in came.measured]
    return f", some time after: {names[-1]}" if names else ""


def _measured(
    say: Callable[[tuple[str, Any]], None],
    one: Experiment,
    device: str,
    quick: bool,
    seed: int,
    blamed: Mapping[str, str],
) -> Found:
    """In the child."""
    hear.set(lambda name, item: say((name, item)))
    left_out.set(blamed)
    return one.measure(Setting(device, open_gpu(device), quick, seed))
