"""The one exception that is the user's to mend: the command line prints it and leaves with exit code 2."""


class UserError(ValueError):
    """Bad input. The message names the file, the field, what was found and what to do."""


def unknown_name(kind: str, name: str, choices: "list[str]") -> UserError:
    return UserError(f"unknown {kind} {name!r}; choose from: {', '.join(sorted(choices))}")
