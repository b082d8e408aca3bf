"""A small writer of indented Python source, for kernels generated per problem."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Writer:
    """Collects lines; `block` indents what is written inside it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, *lines: str) -> None:
        """Append lines at the present depth."""
        self._lines += [" " * self._depth + line for line in lines]

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append ``head`` and indent what follows until the block ends."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    @contextlib.contextmanager
    def loop(self, variable: str, count: int) -> Iterator[str]:
        """A counted loop; where it would run once, its body alone with a literal 0."""
        if count == 1:
            yield "0"
        else:
            with self.block(f"for {variable} in range({count}):"):
                yield variable

    def text(self) -> str:
        """Everything written so far."""
        return "\n".join(self._lines) + "\n"
