"""Tells of long work: which of its parts is running, and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

Progress = Callable[[str], None]


class PartLines:
    """Passes lines on with the number of the part that they tell of, and the time that is left.

    What is left is the mean time of the parts that are done for each that is not, and what was
    promised to come after them.
    """

    def __init__(self, say: Progress, part: str, total: int) -> None:
        """``part`` is what one part is called: a rung, a config, a step."""
        self._say, self._part, self._total = say, part, total
        self._start, self._where, self.done = time.monotonic(), "", 0

    def __call__(self, line: str) -> None:
        """Pass a line on."""
        self._say(f"{self._where}{line}")

    def begin(self, done: int, after_s: float = 0.0) -> None:
        """``done`` parts are done, and the next begins; after all of them each line stands alone.
        ``after_s`` seconds will be spent after the last part."""
        self.done, self._where = done, ""
        if done < self._total:
            spent = time.monotonic() - self._start
            rest = spent / done * (self._total - done) + after_s if done else 0.0
            left = f", about {rest:.0f} s left" if rest >= 1 else ""
            self._where = f"{self._part} {done + 1} of {self._total}{left}: "

    def next(self, line: str) -> None:
        """The next part begins, which the line names."""
        self.begin(self.done + (self._where != ""))
        self(line)
