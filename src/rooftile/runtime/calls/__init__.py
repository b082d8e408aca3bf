"""How a checked call runs, on the host and on a GPU, and how it runs again."""
