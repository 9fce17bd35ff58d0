"""Where heat goes: cards, coolants, CDUs, towers, chillers and the weather; pure and vectorised."""
