"""The paper's empirical study: tasks, policies to go with them, logs, runs, scores."""
