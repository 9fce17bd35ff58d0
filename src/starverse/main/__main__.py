"""`python -m starverse.main` is `starverse`."""

from starverse.main import main

main()
