"""What stands about the project beside its code agrees with it."""

from __future__ import annotations

import re
from pathlib import Path

import rooftile

ROOT = Path(__file__).parent.parent


def test_the_citation_has_the_packages_version_and_licence():
    fields = dict(re.findall(r"^(\w[\w-]*): (.+)$", (ROOT / "CITATION.cff").read_text(), re.M))
    assert fields["version"] == rooftile.__version__
    assert fields["license"] == "MIT"
    assert fields["title"].strip('"').startswith("rooftile: ")


def test_links_between_pages_lead_somewhere():
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
