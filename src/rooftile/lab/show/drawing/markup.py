"""Elements of SVG; `xml.etree` escapes what goes into them."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree

Element = ElementTree.Element


def element(tag: str, **attributes: object) -> Element:
    """An element without a parent; ``class_`` and ``stroke_width`` become what SVG calls them."""
    return Element(tag, _text(attributes))


def add(parent: Element, tag: str, text: str | None = None, **attributes: object) -> Element:
    """Add an element to ``parent``; attributes as in `element`."""
    made = ElementTree.SubElement(parent, tag, _text(attributes))
    made.text = text
    return made


def serialised(made: Element) -> str:
    """The element as text."""
    return ElementTree.tostring(made, encoding="unicode")


def _text(attributes: Mapping[str, object]) -> dict[str, str]:
    """Attributes as SVG names and writes them."""
    return {
        key.rstrip("_").replace("_", "-"): f"{value:.2f}" if type(value) is float else str(value)
        for key, value in attributes.items()
    }
