"""A thread owns pooling windows of several maps, patch rows and pool in registers."""
