"""Markup and SVG, from which explanations and reports draw."""
