"""The memory: journal, ledger, projections, tenants, requests and submitted files, in SQL and on disk."""
