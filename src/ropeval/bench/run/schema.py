"""What a row and a curve of a study hold: written by a unit, read by `bench.results.rows`."""

from typing import Any

import polars as pl

BASELINES = ("mean-reward", "mean-return")  # what everything else has to beat
PROTOCOLS = ("standard", "paper")
TRUTHS = {"discounted": "discounted return", "mean_reward": "mean reward/(1−γ)"}  # columns truth_*, random_*

ROWS: dict[str, Any] = {
    "study": pl.String, "unit": pl.String, "task": pl.String,
    "policy": pl.String, "split": pl.String,  # which one is judged; dev, test or empty
    "method": pl.String, "protocol": pl.String,
    "hyper": pl.String,  # canonical JSON of what the grid varied, "{}" where nothing was
    "default": pl.Boolean,  # whether `hyper` is the method's default setting
    "seed": pl.Int64, "gamma": pl.Float64, "config": pl.String,
    "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64,  # the 95 % interval, where there is one
    "diverged": pl.Boolean, "diverged_at": pl.Int64,
    "truth_discounted": pl.Float64, "truth_discounted_se": pl.Float64,
    "truth_mean_reward": pl.Float64, "truth_mean_reward_se": pl.Float64,
    # The value of the random policy: RMAE is measured in units of |ρ(π_e) − ρ(π_rand)|.
    "random_discounted": pl.Float64, "random_discounted_se": pl.Float64,
    "random_mean_reward": pl.Float64, "random_mean_reward_se": pl.Float64,
    "data_sha256": pl.String, "policy_sha256": pl.String, "version": pl.String, "commit": pl.String,
    "device": pl.String,
    "seconds": pl.Float64, "seconds_prepare": pl.Float64,  # of the unit for this policy; of the log, for all policies
    "warnings": pl.String,  # a list of {"code", "severity", "message"}: see `warnings_of`
    "extras": pl.String,  # what the method says about itself, a JSON object
}  # fmt: skip
CURVES: dict[str, Any] = {
    "unit": pl.String, "task": pl.String, "policy": pl.String,  # empty: trained once, for all policies
    "method": pl.String, "protocol": pl.String, "hyper": pl.String,
    "seed": pl.Int64, "stage": pl.String, "step": pl.Int64, "metric": pl.String, "value": pl.Float32,
}  # fmt: skip
RUN = ["protocol", "task", "policy", "method", "hyper", "seed"]  # what tells one row from another
