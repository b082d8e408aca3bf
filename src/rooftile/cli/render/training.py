"""The display of a training while it runs, and its interruption."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooftile.cli._options import check_writable
from rooftile.cli.render.networks import percent_of
from rooftile.cli.render.output import Output
from rooftile.errors import InputError, RooftileError, TrainingWarning

if TYPE_CHECKING:
    from rooftile.cli.render.sheet import Sheet
    from rooftile.nn.training import Profile, Progress, TrainingOptions

_TURN_S = 1e-4
"""Longest wait for the GIL in a thread that trains while another one imports: each call of the
driver releases it, and an epoch starts hundreds of graphs."""
_LINES = 50
"""Largest number of lines on epochs where standard error is no terminal."""


def out_of(arguments: argparse.Namespace, name: str) -> Path:
    """The path of the weights: the requested one, else the model's own file, else its name.

    Raises `InputError` before the work where they cannot be written there, and where a file is
    there, or a checkpoint, that this run did not make.
    """
    own = Path(arguments.model)
    out: Path = arguments.out or (own if own.is_file() else Path(f"{name}.safetensors"))
    check_writable("--out", out)
    checkpoint = checkpoint_of(out)
    if arguments.overwrite:
        return out
    if not arguments.resume and checkpoint.exists():
        expected = "--resume to go on from it, --overwrite to replace it, or --out another file"
        raise InputError("--out", f"{out}, next to which {checkpoint.name} is", expected)
    if out.exists() and not (arguments.resume and _is_of_the_run(out, checkpoint)):
        expected = "--overwrite to replace it, or --out another file"
        raise InputError("--out", f"{out}, which exists and this run did not make", expected)
    return out


def _is_of_the_run(out: Path, checkpoint: Path) -> bool:
    from rooftile.nn.training.checkpoint import is_of_the_run

    return is_of_the_run(out, checkpoint)


def checkpoint_of(out: Path) -> Path:
    """The checkpoint next to the weights."""
    return out.with_name(f"{out.name}.checkpoint")


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[], None]]:
    """A function to be called between two steps, which raises where Ctrl-C was pressed before.

    So a step is not cut in two, and what is saved is whole.  A second Ctrl-C stops at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    pressed = threading.Event()

    def press(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def opened_meanwhile(device: str) -> Iterator[Callable[[Callable[[], object]], object]]:
    """A GPU's driver starts, if the device is one, while the block runs.

    The block gets a function that hands a thread work to do after the GPU is open; nothing waits
    for it. An error is raised where the work is next done.
    """
    from rooftile.devices.names import parse_device

    kind, index = parse_device(device)
    if kind == "cpu":
        yield lambda _: None
        return
    if kind == "cuda":
        from rooftile.devices.cuda.waking import waking

        waking(index)

    def attempt(work: Callable[[], object]) -> None:
        with contextlib.suppress(RooftileError):
            work()

    thread, turn, opened = ThreadPoolExecutor(1), sys.getswitchinterval(), list[Future[None]]()

    def behind(work: Callable[[], object]) -> None:
        # Not before somebody asks: threads that import at once hinder each other.
        if not opened:
            opened.append(thread.submit(attempt, partial(_open, device)))
        thread.submit(attempt, work)

    sys.setswitchinterval(_TURN_S)
    try:
        yield behind
    finally:
        for one in opened:
            one.result()
        thread.shutdown(wait=False)
        sys.setswitchinterval(turn)


def _open(device: str) -> None:
    from rooftile.devices import select

    select.open_gpu(device)


class TrainingSpeed:
    """A run's speed since it was started or resumed, from its reports."""

    def __init__(self, items: int, what: str) -> None:
        """``items`` an epoch, called ``what``."""
        self._items, self._what = items, what
        self._start, self._from = time.perf_counter(), -1.0

    def note(self, step: Progress) -> None:
        """A step is done: of the first one it is kept where the run began."""
        if self._from < 0:
            self._from = step.epoch - 1 + (step.step - 1) / step.steps

    def words(self, step: Progress) -> str:
        """Items a second, and the time that is left."""
        done = step.epoch - 1 + step.step / step.steps
        rate = (done - self._from) / max(time.perf_counter() - self._start, 1e-9)
        left = round((step.epochs - done) / rate)
        clock = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
        return f"{rate * self._items:,.0f} {self._what}/s, {clock} left"


@contextlib.contextmanager
def progress_bar(
    output: Output, options: TrainingOptions, items: int, what: str = "images"
) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error, or lines for epochs where it is no terminal; Ctrl-C is heard between
    two steps."""
    speed, every = TrainingSpeed(items, what), -(-options.epochs // _LINES)
    with contextlib.ExitStack() as stack:
        # Reports hold its text, too.
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", TrainingWarning)
        check = stack.enter_context(stoppable())
        bars = None
        if output.on_terminal:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bars

            columns = (TextColumn("{task.description}"), BarColumn())
            bars = stack.enter_context(Bars(*columns, console=output.progress))
            task = bars.add_task("training", total=options.epochs)

        def advance(step: Progress) -> None:
            speed.note(step)
            told = step.epoch % every == 0 or step.epoch in (1, step.epochs)
            if bars is not None:
                done = step.epoch - 1 + step.step / step.steps
                bars.update(task, completed=done, description=_line(step, speed))
            if told and step.step == step.steps:
                epoch_line(output, _line(step, speed))
            if step.warning is not None:
                output.line(f"warning: {step.warning}")
            check()

        yield advance


def epoch_line(output: Output, line: str) -> None:
    """Print what an epoch came to."""
    output.line(line)


def _line(step: Progress, speed: TrainingSpeed) -> str:
    line = f"epoch {step.epoch}/{step.epochs}: loss {step.loss:.4g}"
    if step.holdout_loss is not None:
        line += f", held-out loss {step.holdout_loss:.4g}"
    if step.holdout_accuracy is not None:
        line += f", held-out accuracy {percent_of(step.holdout_accuracy)}"
    return f"{line}, {speed.words(step)}"


def epochs_json(ends: Iterable[Progress]) -> list[dict[str, Any]]:
    """Each epoch's result, from its last report."""
    return [
        {
            "epoch": end.epoch,
            "loss": end.loss,
            "holdout_loss": end.holdout_loss,
            "holdout_accuracy": end.holdout_accuracy,
            "warning": end.warning,
        }
        for end in ends
    ]


def profile_of(wanted: bool) -> Profile | None:
    """The timer of every phase, where it is wanted."""
    from rooftile.nn.training import Profile

    return Profile() if wanted else None


def profile_sheet(profile: Profile) -> Sheet:
    """Each phase of each layer: its share of the time, calls, and a call's average, least, most."""
    from rooftile.cli.render.sheet import Sheet

    columns = ("share", "calls", "average ms", "least ms", "most ms")
    sheet = Sheet("phase", "layer", *columns, numbers=columns)
    ordered = sorted(profile.tallies.items(), key=lambda item: -item[1].total)
    for (phase, layer), tally in ordered:
        times = (f"{1e3 * t:.4g}" for t in (tally.average, tally.least, tally.most))
        share = f"{100 * tally.total / profile.total:.1f} %"
        sheet.add_row(phase, layer, share, f"{tally.calls:,}", *times)
    return sheet


def profile_json(profile: Profile) -> dict[str, Any]:
    """The same as plain numbers, and when the first calls began."""
    phases = [
        {
            "phase": phase,
            "layer": layer,
            "share": tally.total / profile.total,
            "calls": tally.calls,
            "average_ms": 1e3 * tally.average,
            "least_ms": 1e3 * tally.least,
            "most_ms": 1e3 * tally.most,
        }
        for (phase, layer), tally in profile.tallies.items()
    ]
    timeline = [
        {"phase": s.phase, "layer": s.layer, "start_ms": 1e3 * s.start, "ms": 1e3 * s.seconds}
        for s in profile.spans
    ]
    return {"phases": phases, "timeline": timeline}
