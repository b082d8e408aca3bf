"""The commands of ``rooftile``, a module each."""
