"""Help that lists the formats: made from the readers, which are imported when help is asked for, and not before."""

from typing import Any

from typer.core import TyperCommand

LOGS, POLICY_FILES, POLICY_WORDS = "{logs}", "{policy files}", "{policy words}"  # stand in a help text for the lists


class FormatHelpCommand(TyperCommand):
    """A command whose arguments are logs and policies."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from ropeval.data.formats import READS
        from ropeval.policies.readers import FORMATS, WORDS

        lists = {
            LOGS: READS,
            POLICY_FILES: ", ".join(known.about for known in FORMATS),
            POLICY_WORDS: ", or ".join(word.about for word in WORDS),
        }
        for parameter in self.params:
            for mark, text in lists.items():
                if getattr(parameter, "help", None):
                    parameter.help = parameter.help.replace(mark, text)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
