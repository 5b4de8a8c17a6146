"""The one training loop of this library, and the networks that it trains."""
