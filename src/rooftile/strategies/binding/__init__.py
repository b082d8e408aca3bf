"""Binding: a strategy is compiled, and its parameters packed, for a device."""
