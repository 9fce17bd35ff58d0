"""How a server says that it compiles: known without loading the compiler."""

COMPILING = "Compiling the scheduler's loops, once on this machine (about half a minute)"
"""How each line begins that says how far this is."""
