"""The search for a strategy's fastest tunables for a problem on a device.

A config is verified, then timed (`rooftile.lab.measure.contest`), and its row is written to the
history at once: an interrupt loses nothing, a second call goes on where the first ended, and two
at once share the work.  Small spaces are searched exhaustively, larger ones by a sampler.

The time that picks a winner flatters it, so the best few are verified and timed again, on fresh
inputs, in turns with the strategy's default config and with the strategy that is chosen so far
(`rooftile.runtime.selection.choice`).  Only a config that is faster than the default beyond doubt
(`rooftile.lab.measure.history.compare`) replaces it.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rooftile.devices.gpu import GpuDevice
from rooftile.errors import DeviceMissing, InputError, UnsupportedProblem, unknown
from rooftile.lab.measure.apart import Apart, Rules, runs_apart
from rooftile.lab.measure.ceilings.known import known_roof
from rooftile.lab.measure.contest import Contest
from rooftile.lab.measure.entry import VerifiedCandidate
from rooftile.lab.measure.environment import environment
from rooftile.lab.measure.history.store import History, Run, record_winner
from rooftile.lab.measure.records import Ladder, Row
from rooftile.lab.measure.tune.sampler import SAMPLERS, Sampler
from rooftile.lab.measure.tune.winner import Crowned, crowned
from rooftile.ops import Problem, admits
from rooftile.ops.checks import check_limit, check_seed
from rooftile.ops.fields import batch_of
from rooftile.runtime.selection.tuned import Winner, fingerprint, items
from rooftile.strategies import Config, Strategy

_ENUMERABLE = 5_000
"""The programs of spaces with more configs than this are not even counted."""
IN_VAIN = 2_000
"""Consecutive invalid or known proposals after which the sampler has nothing new."""
_FINALISTS = 3
"""Number of the best configs that are timed again."""

Pick = tuple[Strategy, Config | None]
"""A strategy with its config; None for its default."""


@dataclass(frozen=True)
class Trial:
    """One config with its row."""

    config: Config
    row: Row
    resumed: bool = False
    """True if an earlier search had it already."""

    @property
    def median_ms(self) -> float | None:
        """The median time; None unless the config passed."""
        return self.row.time_ms.median if self.row.time_ms else None


class Search:
    """A search of one strategy's tunables; what it finds goes to ``history``."""

    def __init__(
        self,
        problem: Problem,
        strategy: Strategy,
        device: GpuDevice,
        history: History,
        *,
        precision: str = "ieee",
        seed: int = 0,
        limit_s: float = 20.0,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """A config whose time is estimated beyond ``limit_s`` seconds is skipped. Raises
        `UnsupportedProblem`, and `InputError` for a strategy without tunables, a limit or a seed
        that is none."""
        strategy.check(problem)
        check_limit(limit_s)
        check_seed(seed)
        if not admits(precision, strategy.precision):
            reason = f"its precision is {strategy.precision!r}, asked was {precision!r}"
            raise UnsupportedProblem(strategy.name, reason, f"precision={strategy.precision!r}")
        if not strategy.tunables:
            raise InputError("strategy", repr(strategy.name), "one with tunables")
        self.problem, self.strategy, self.device = problem, strategy, device
        self.precision = precision
        self._history, self._seed, self._limit_s = history, seed, limit_s
        self._report = progress or (lambda line: None)
        self.default: Config = strategy.config(problem)
        self._known: dict[str, Trial] = {}
        self._seen = 0

    def programs(self, most: int = _ENUMERABLE) -> list[Config] | None:
        """One config for each different program that can run, the default's first. None where the
        space has more than ``most`` configs."""
        if math.prod(len(one.values) for one in self.strategy.tunables) > most:
            return None
        names = [one.name for one in self.strategy.tunables]
        found = {self.name(self.default): self.default}
        for values in itertools.product(*(one.values for one in self.strategy.tunables)):
            given = dict(zip(names, values, strict=True))
            config = self.strategy.config(self.problem, given)
            if self.invalid(config) is None:
                found.setdefault(self.name(config), config)
        return list(found.values())

    def invalid(self, config: Config) -> str | None:
        """Why the strategy cannot run the problem so; None when it can."""
        return self.strategy.invalid(self.problem, config)

    def name(self, config: Config) -> str:
        return fingerprint(self.strategy, self.problem, items(config))

    def known(self) -> dict[str, Trial]:
        """Results of this and other searches so far, by the program's name. Configs that were
        skipped, or that lacked memory, are not known."""
        found = self._history.records(
            problem=self.problem,
            strategy=self.strategy.name,
            command="tune",
            device=self.device.description.kind,
            hardware=self.device.description.name,
            after=self._seen,
        )
        for record in found:
            self._seen = record.id
            same = record.environment["device"]["driver"] == self.device.description.driver
            # Records of an older release have no cause: an error may have been this one.
            cause = record.row.get("cause") or ("out of memory" if record.status == "error" else "")
            if same and cause != "out of memory" and record.status != "skipped":
                trial = Trial(record.config, record.to_row(), resumed=True)
                self._known[record.fingerprint] = trial
        return self._known

    def run(self, sampler: str = "auto", trials: int = 200) -> tuple[int, Iterator[Trial]]:
        """The largest number of trials, and an iterator over the trials.

        ``trials`` includes the trials of earlier searches. The sampler ``exhaustive`` tries all,
        whatever ``trials``; ``auto`` does so where there are no more different programs, and else
        asks ``tpe``; `SAMPLERS` are the others.

        Raises `InputError`, and `DeviceMissing` where the sampler's packages are missing, or where
        a config has left the device unusable.
        """
        choices = ("auto", "exhaustive", *SAMPLERS)
        if sampler not in choices:
            raise unknown("sampler", sampler, choices)
        if trials < 1:
            raise InputError("trials", trials, "at least 1")
        if sampler in ("auto", "exhaustive"):
            programs = self.programs(sys.maxsize if sampler == "exhaustive" else _ENUMERABLE)
            if programs is not None and (sampler == "exhaustive" or len(programs) <= trials):
                return len(programs), self.each(programs)
            sampler = "tpe"
        made = Sampler(sampler, self.strategy.tunables, self._seed)
        return max(trials, len(self.known())), self._sampled(made, trials)

    def each(self, configs: Iterable[Config]) -> Iterator[Trial]:
        """Try these configs; what they leave out has its default. One that cannot run is skipped
        with a reason."""
        for given in configs:
            config = self.strategy.config(self.problem, given)
            reason = self.invalid(config)
            if reason is not None:
                yield Trial(config, self._skipped(reason, config))
                continue
            known = self.known().get(self.name(config))
            if known is None:
                yield self._attempt(config)
            else:
                # It may be known as another config that is the same program.
                row = dataclasses.replace(known.row, config=dict(config))
                yield Trial(config, row, resumed=True)

    def _sampled(self, sampler: Sampler, trials: int) -> Iterator[Trial]:
        for trial in list(self.known().values()):
            sampler.learn(trial.config, trial.median_ms)
            yield trial
        for trial in self.each([self.default]):
            sampler.learn(trial.config, trial.median_ms)
            if not trial.resumed:
                yield trial
        vain = 0
        while len(self.known()) < trials and vain < IN_VAIN:
            config = self.strategy.config(self.problem, sampler.ask())
            vain += 1
            if self.invalid(config) is not None:
                sampler.tell(None)
            elif self.name(config) in self.known():
                sampler.decline()
            else:
                vain = 0
                trial = self._attempt(config)
                sampler.tell(trial.median_ms)
                yield trial

    def _attempt(self, config: Config) -> Trial:
        """Verify, time and record one config."""
        (row,) = self._judged(self._contest, [(self.strategy, config)])
        row = dataclasses.replace(row, config=dict(config))
        self._history.add(self._run, self.problem, row, fingerprint=self.name(config))
        if row.status == "error":
            self._check_device(config, row.reason)
        return Trial(config, row)

    def crown(self, pick: Pick | None = None) -> Crowned:
        """Verify and time the best again, on fresh inputs, and record the winner. ``pick`` is what
        is chosen so far. Raises `InputError` where nothing passes."""
        passed = [one for one in self.known().values() if one.median_ms is not None]
        best = sorted(passed, key=lambda one: one.median_ms or math.inf)[:_FINALISTS]
        own = {self.name(self.default): self.default}
        own |= {self.name(one.config): one.config for one in best}
        rungs: list[Pick] = [(self.strategy, config) for config in own.values()]
        if pick is not None and pick[0] is not self.strategy:
            rungs.append(pick)
        self._report(f"{self.strategy.name}: the best again, on fresh inputs")
        self.__dict__.pop("_contest", None)  # Its arrays need not stay on the device.
        rows = self._judged(self._new_contest(self._seed + 1, neighbours=True), rungs)
        found = crowned(rows[: len(own)], rows[len(own)] if len(rows) > len(own) else None)
        run = self._begin("final")
        names = [*own, *([""] * (len(rows) - len(own)))]
        numbers = [
            self._history.add(run, self.problem, row, fingerprint=name)
            for row, name in zip(rows, names, strict=True)
        ]
        won = next(i for i, row in enumerate(rows) if row is found.winner)
        name, full = list(own.items())[won]
        config = {one.name: full[one.name] for one in self.strategy.tunables}
        winner = Winner(
            batch_of(self.problem),
            self.precision,
            self.strategy.name,
            config,
            name,
            found.preferred,
        )
        kind, result = self.device.description.kind, numbers[won]
        record_winner(self._history, run, self.problem, winner, kind, result)
        return found

    @cached_property
    def _contest(self) -> Contest | Apart:
        return self._new_contest(self._seed, neighbours=False)

    def _new_contest(self, seed: int, *, neighbours: bool) -> Contest | Apart:
        with self.device.on():
            known = known_roof(self.device, self._report)
            if runs_apart(self.device):
                name = self.device.description.device
                asked = known.roof, known.trusted, self.precision, self._limit_s, seed
                return Apart(Rules(self.problem, name, *asked, neighbours), self._report)
            return Contest(
                self.problem,
                self.device,
                known.roof,
                known.trusted,
                self.precision,
                self._limit_s,
                seed,
                neighbours=neighbours,
            )

    def _judged(self, contest: Contest | Apart, rungs: Sequence[Pick]) -> tuple[Row, ...]:
        if isinstance(contest, Apart):
            return contest.rows(rungs)
        with self.device.on():
            found: list[Row | VerifiedCandidate] = [contest.strategy(*rung) for rung in rungs]
            return contest.rows(found)

    @cached_property
    def _run(self) -> Run:
        return self._begin("tune")

    def _begin(self, command: str) -> Run:
        gpu = self.device.description
        ladder = Ladder(self.problem, gpu.device, None, environment(), (), gpu)
        return self._history.add_ladder(ladder, command, seed=self._seed)

    def _skipped(self, reason: str, config: Config) -> Row:
        rung = self.strategy
        return Row(
            "strategy",
            rung.name,
            self.device.description.device,
            rung.precision,
            "skipped",
            reason,
            dict(config),
            cause="unsupported",
        )

    def _check_device(self, config: Config, reason: str) -> None:
        """Raise `DeviceMissing` where the device no longer answers. Else what comes after a fault
        would be recorded as a fault of innocent configs."""
        try:
            with self.device.on():
                self.device.synchronise()
                self.device.upload(np.zeros(1, np.float32))
        except Exception as error:
            raise DeviceMissing(
                f"the device after the config {dict(config)} ({reason}): {error}",
                "nothing; the result is recorded, and the same command goes on without that config",
            ) from error
