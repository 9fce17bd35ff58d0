"""The command line: the client of the API with tables, progress and exit codes around it."""
