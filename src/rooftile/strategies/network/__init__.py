"""Several layers of a network as one kernel."""
