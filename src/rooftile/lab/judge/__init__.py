"""Is it right, and how fast?  One pipeline for strategies, networks and other libraries."""
