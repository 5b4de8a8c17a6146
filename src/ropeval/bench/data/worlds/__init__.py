"""Small environments that know what a policy is worth: tables, a bandit, a linear-quadratic problem, classic control.

Each file holds one world: what happens in it, and its policies from weak to strong. `environments` registers them all
with Gymnasium, as `ropeval/ICU-v0` and so on; only that file needs Gymnasium.
"""
