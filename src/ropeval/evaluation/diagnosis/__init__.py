"""What speaks against believing an estimate."""
