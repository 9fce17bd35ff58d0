"""How the schema came to be, one file a step; run by `open_database`."""
