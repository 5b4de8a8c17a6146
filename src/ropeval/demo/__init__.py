"""The embedded demo: a pendulum log, candidate policies and their true values (scripts/make_demo.py)."""
