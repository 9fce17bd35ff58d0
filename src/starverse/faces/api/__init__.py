"""The HTTP API: a router a noun, problems in one place, live events."""
