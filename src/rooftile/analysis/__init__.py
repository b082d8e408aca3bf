"""Why: the pencil-and-paper performance model."""
