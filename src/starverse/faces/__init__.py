"""What people touch: API, client, command line and console."""
