"""``python -m flitloom`` is the command line."""

from flitloom.commands import main

if __name__ == "__main__":
    main()
