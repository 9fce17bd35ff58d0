"""What a cluster would do and cost: one pure function a question; pure."""
