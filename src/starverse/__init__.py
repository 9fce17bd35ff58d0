"""Starverse: compute on tap from a training cluster, and its twin."""

__version__ = "0.1.0"
