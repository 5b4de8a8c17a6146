"""What there is to judge: tasks, policies to go with them, logs and true values, collected and read back."""
