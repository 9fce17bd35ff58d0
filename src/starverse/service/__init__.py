"""What a tenant may do: one function a use case, every right checked here."""
