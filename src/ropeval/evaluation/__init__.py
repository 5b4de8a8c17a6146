"""From the question to the answer: methods by name, estimates with their warnings, runs that can be resumed."""
