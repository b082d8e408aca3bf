"""``python -m rooftile``: the command line, where its script is not on the path."""

from rooftile.cli import main

raise SystemExit(main())
