"""`python -m ropeval`, and the command `ropeval`."""

from ropeval.interrupts import interruptible


def main() -> None:
    with interruptible():  # the import takes seconds, in which people change their minds, too
        from ropeval.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
