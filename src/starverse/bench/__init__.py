"""What is measured, on this machine, at that moment: `starverse bench NAME`."""
