"""Something that a reader must know, in a box of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from ropeval.report.escape import escape
from ropeval.report.palette import SEVERITY_SIGNS

FOLDED = 4  # cases of one note, beyond which they are folded away


@dataclass(frozen=True)
class Note:
    """How bad, the sentence, what to do about it, and whom it concerns."""

    severity: str  # severe, warning, note or good
    sentence: str
    action: str = ""
    about: Sequence[str] = ()

    def html(self) -> str:
        kind = self.severity if self.severity in SEVERITY_SIGNS else "note"
        about = f'<ul class="about">{"".join(f"<li>{escape(a)}</li>" for a in self.about)}</ul>' if self.about else ""
        if len(self.about) > FOLDED:
            about = f"<details><summary>The {len(self.about)} cases</summary>{about}</details>"
        return (
            f'<div class="note {kind}"><p><span class="sign" aria-hidden="true">{SEVERITY_SIGNS[kind]}</span>'
            f"<strong>{escape(self.severity)}</strong> {escape(self.sentence)}</p>"
            + (f'<p class="action">{escape(self.action)}</p>' if self.action else "")
            + f"{about}</div>"
        )
