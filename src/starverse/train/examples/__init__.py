"""Training scripts to copy from."""
