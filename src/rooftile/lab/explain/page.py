"""An explanation as one HTML file: its drawing, and beneath it the lines that the screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
body{font:14px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}
pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap}
svg{max-width:100%;height:auto}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#ddd}}
""".replace("\n", "")


def page(title: str, drawing: str, lines: Sequence[str]) -> str:
    """The file's text; ``drawing`` is SVG, or empty where nobody drew the rung."""
    missing = "<p>Nobody drew this rung.</p>"
    words = escape("\n".join(lines))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
        f"<figure>{drawing or missing}</figure>\n<pre>{words}</pre>\n</body></html>\n"
    )
