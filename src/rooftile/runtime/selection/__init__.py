"""Which strategy and which config compute a problem on a device."""
