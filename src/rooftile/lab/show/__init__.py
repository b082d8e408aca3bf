"""What was measured and why, for a reader: explanations and reports."""
