"""Selection of the strategy and the config that compute a problem on a device."""
