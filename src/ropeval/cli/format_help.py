"""Lists of formats for `--help`, made from the readers."""

from ropeval.data import readers as logs
from ropeval.errors import either
from ropeval.policies import readers as policies

LOGS = either([known.about for known in logs.FORMATS])
POLICY_FILES = ", ".join(known.about for known in policies.FORMATS)
POLICY_WORDS = ", or ".join(word.about for word in policies.WORDS)
