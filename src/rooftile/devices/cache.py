"""Where rooftile keeps what it made for this machine: compiled kernels, ceilings, data."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_directory() -> Path:
    """The user's cache for rooftile; the environment's ``ROOFTILE_CACHE`` overrides it."""
    return Path(os.environ.get("ROOFTILE_CACHE") or platformdirs.user_cache_dir("rooftile"))
