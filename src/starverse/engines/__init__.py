"""Where runs are real: processes on this machine, each under a shim of its own."""
