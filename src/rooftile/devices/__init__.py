"""Where things run: memory, compilers, launches and properties of each kind of device."""
