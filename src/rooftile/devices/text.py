"""Kernel texts and the headers that they include."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)".*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once.*$", re.MULTILINE)


def whole(text: str, folders: Sequence[Path]) -> str:
    """A text with each header in place of its include: all that the compiled text depends on.

    A header comes from the first folder that has it, as compilers take it.  An include of one that
    no folder has is left for the compiler to report.
    """

    def header(found: re.Match[str]) -> str:
        path = next((p for folder in folders if (p := folder / found[1]).is_file()), None)
        if path is None:
            return found[0]
        guard = "INCLUDED_" + re.sub(r"\W", "_", found[1]).upper()
        inside = whole(_ONCE.sub("", path.read_text(encoding="utf-8")), folders)
        return f"#ifndef {guard}\n#define {guard}\n{inside}\n#endif"

    return _INCLUDE.sub(header, text)
