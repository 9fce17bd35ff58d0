"""How bytes, watts, heat, faults and training steps behave; pure."""
