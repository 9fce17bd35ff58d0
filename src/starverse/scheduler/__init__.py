"""Who runs where: pure decisions on a read-only view."""
