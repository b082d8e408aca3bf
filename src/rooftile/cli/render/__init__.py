"""The commands' results as tables, lines and JSON."""
