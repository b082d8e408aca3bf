"""One self-contained HTML page from records: what a ladder reached, how right, how fast, and where.

    from rooftile.lab.show.report import page, read_files
    text = page(read_files([Path("climb.json")]))

Each figure is a module of pure functions, from rows to SVG and a table of the same numbers; nothing
in the page comes from elsewhere, and nothing from a record gets into it unescaped.  Needs the
extra ``report``.
"""

try:
    import jinja2  # noqa: F401
except ImportError as error:
    from rooftile.errors import DeviceMissing

    raise DeviceMissing(
        "the Python package jinja2, which puts the page together",
        'pip install "jinja2>=3.1"',
    ) from error

from rooftile.lab.show.report.content import Content, NetworkRun, Section
from rooftile.lab.show.report.page import page
from rooftile.lab.show.report.sources import (
    from_ladder,
    from_records,
    legible,
    read_files,
)
from rooftile.lab.show.report.training import TrainingRun

__all__ = [
    "Content",
    "NetworkRun",
    "Section",
    "TrainingRun",
    "from_ladder",
    "from_records",
    "legible",
    "page",
    "read_files",
]
