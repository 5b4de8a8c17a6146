"""Small environments whose true values are known by arithmetic: tables, a bandit, a linear-quadratic problem.

Each file holds one world: what happens in it, and its policies from weak to strong. `environments` registers them all
with Gymnasium, as `ropeval/ICU-v0` and so on; only that file needs Gymnasium.
"""
