"""The process of a foreign kernel, and how the judge talks with it."""
