"""What things are: units, jobs, tenants, events, requests, commands and errors."""
