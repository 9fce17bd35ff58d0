"""How bytes move: networks and the collectives on them."""
