"""Killing, interrupting and starving runs, over and over: `make torture`."""
