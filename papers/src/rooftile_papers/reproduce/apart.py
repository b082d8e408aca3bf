"""An experiment on a processor that OpenCL drives: in a child process, whose crash is a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rooftile.devices.select import open_gpu
from rooftile.lab.measure.process import CannotSend, Child, Ended
from rooftile_papers.reproduce.experiment import Check, Experiment, Found, Log, Setting, hear

Tell = Callable[[str, Any], None]


def measured_apart(one: Experiment, place: Setting, tell: Tell) -> Found:
    """What an experiment measures; where its process crashes, all until then and a failed check.

    ``tell`` is given each item as it comes, see `rooftile_papers.reproduce.experiment.hear`.
    """
    came = Log()

    def heard(item: tuple[str, Any]) -> None:
        getattr(came, item[0]).append(item[1])
        tell(*item)

    with Child() as child:
        try:
            asked = place.device, place.quick, place.seed
            found: Found = child.call(_measured, one, *asked, hear=heard)
            return found
        except CannotSend:
            return one.measure(place)
        except Ended as ended:
            came.checks.append(Check("crashed", False, f"the process ended {ended}{_behind(came)}"))
            return came.found()


def _behind(came: Log) -> str:
    """What came last before the end."""
    names = [one.name for one in came.checks] + [one.name for one in came.measured]
    return f", some time after: {names[-1]}" if names else ""


def _measured(
    say: Callable[[tuple[str, Any]], None], one: Experiment, device: str, quick: bool, seed: int
) -> Found:
    """In the child."""
    hear.set(lambda name, item: say((name, item)))
    return one.measure(Setting(device, open_gpu(device), quick, seed))
