"""The world simulated: a heap of events and a clock that jumps."""
