"""The worlds as Gymnasium plays them."""

import numpy as np

from ropeval.bench.data.episodes import Player
from ropeval.bench.data.worlds import icu

PLACE = "ropeval.bench.data.worlds"


def test_the_environment_plays_the_table():
    """Every step that Gymnasium makes is one of the table's, with its reward; and terminal where it says so."""
    table = icu.world()
    player = Player(f"{PLACE}.environments:ropeval/ICU-v0", icu.policies.fair)
    numbers = {tuple(seen): place for place, seen in enumerate(table.observations) if not table.terminal[place]}
    for number in range(20):
        episode = player.play(0, "x", number)
        states = [numbers[tuple(seen)] for seen in episode.observations[: len(episode)].astype(int)]
        assert table.d0[states[0]] > 0
        for step, (state, action) in enumerate(zip(states, episode.actions, strict=True)):
            last = step == len(episode) - 1
            ends = np.flatnonzero(table.terminal) if last and episode.terminated else states[step + 1 : step + 2]
            possible = [table.rewards[state, action, end] for end in ends if table.P[state, action, end] > 0]
            assert possible == [] if last and episode.truncated else episode.rewards[step] in possible
