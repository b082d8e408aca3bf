"""What a foreign process must not see or do, and how it ends."""
