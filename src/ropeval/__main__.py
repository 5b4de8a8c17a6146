"""`python -m ropeval`."""

from ropeval.cli.main import main

main()
