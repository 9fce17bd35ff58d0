"""What a cluster would do and cost: one function a question, all pure."""
