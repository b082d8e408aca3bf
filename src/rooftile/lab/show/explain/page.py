"""An explanation as one HTML file: its drawings, and beneath them what the screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """
body{font:14px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}
pre{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap}
figure{margin:1em 0}svg{max-width:100%;height:auto}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#ddd}}
""".replace("\n", "")


def page(title: str, drawings: Sequence[str], lines: Sequence[str]) -> str:
    """The file's text; ``drawings`` are SVG."""
    words = escape("\n".join(lines))
    figures = "\n".join(f"<figure>{drawing}</figure>" for drawing in drawings)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
        f"{figures}\n<pre>{words}</pre>\n</body></html>\n"
    )
