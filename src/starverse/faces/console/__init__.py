"""The console: Starverse in a browser, in Chinese and English; a client of the API and nothing else."""
