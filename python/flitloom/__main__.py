"""``python -m flitloom`` and the console script are the command line."""

# The module signal imports enum and others: most of the time until Ctrl-C would be answered.
import _signal  # type: ignore[import-not-found, unused-ignore]
import os


def main() -> None:
    """Answer Ctrl-C from the first moment, then do what the command line says."""
    if _signal.getsignal(_signal.SIGINT) == _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)
    from flitloom import commands

    commands.main()


def speaks() -> bool:
    """Whether this process tells the user: of those that ``mpiexec`` started, the first one does."""
    return all(os.environ.get(name, "0") == "0" for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK"))


def _leave(_number: int, _frame: object) -> None:
    if speaks():
        os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
