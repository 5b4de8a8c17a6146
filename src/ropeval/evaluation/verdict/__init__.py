"""How far an estimate can be relied on: signs that need no truth, and the rule that was fitted to them."""
