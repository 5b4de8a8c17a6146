"""Small evaluations over and over, in one process and in many: `make soak`."""
