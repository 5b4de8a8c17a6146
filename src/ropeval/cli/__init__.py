"""The command line: one file per verb, each parses its words and calls one function."""
