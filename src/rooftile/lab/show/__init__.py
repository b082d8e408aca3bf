"""Explanations and reports of measurements, for a reader."""
