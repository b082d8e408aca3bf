"""SVG whose text keeps its size on every screen: x in percent of the width, y in pixels.

Without a view box nothing is scaled, so a phone gets the same type and the same line widths as a
desktop, only closer together.
"""

from __future__ import annotations

from markupsafe import Markup

from rooftile.lab.show.drawing.markup import Element, add, element, serialised


def drawing(height: float, name: str, **attributes: object) -> Element:
    """An empty picture as wide as its place, ``height`` pixels high; ``name`` is its CSS class."""
    return element("svg", class_=name, width="100%", height=height, **attributes)


def place(parent: Element, x: float, y: float) -> Element:
    """A place at ``x`` percent and ``y`` pixels, in which both coordinates are pixels."""
    return add(parent, "svg", x=percent(x), y=y, class_="place")


def markup(made: Element) -> Markup:
    """The element as HTML."""
    # Escaped by the serialiser; what remains is for the page to show as it is.
    return Markup(serialised(made))


def percent(x: float) -> str:
    """A coordinate in percent of the width."""
    return f"{x:.3f}".rstrip("0").rstrip(".") + "%"


def symbol(parent: Element, precision: str, style: str) -> Element:
    """A mark of a few pixels around the origin, whose shape tells the precision without colour."""
    shapes = {
        "ieee": "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1-5 0Z",
        "fast": "M0-6.2L6.2 0L0 6.2L-6.2 0Z",
        "tf32": "M-4.6-4.6H4.6V4.6H-4.6Z",
        "fp16": "M0-6L5.8 4.4H-5.8Z",
        "bf16": "M0 6L5.8-4.4H-5.8Z",
    }
    return add(parent, "path", d=shapes.get(precision, shapes["ieee"]), class_=style)


__all__ = ["Element", "add", "drawing", "markup", "percent", "place", "symbol"]
