"""``python -m flitloom`` and the console script are the command line."""

# The module signal imports enum and others: most of the time until Ctrl-C would be answered.
import _signal  # type: ignore[import-not-found, unused-ignore]
import os
import sys

from flitloom.ground.launched import speaks


def main() -> None:
    """Answer Ctrl-C from the first moment, then do what the command line says."""
    if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)
    if sys.argv[1:] in (["-h"], ["--help"]) and "_FLITLOOM_COMPLETE" not in os.environ:
        from flitloom.verbs import overview

        sys.exit(overview.tell())
    from flitloom import commands

    commands.main()


def _leave(_number: int, _frame: object) -> None:
    if speaks():
        os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
