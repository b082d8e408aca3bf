"""Arrays of NumPy and of other libraries: a module a library, and what all of them share."""
