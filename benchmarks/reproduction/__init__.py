"""Everything that docs/results/reproduction.md needs, from the study's rows: `python -m benchmarks.reproduction`."""
