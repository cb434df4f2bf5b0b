"""Files of BookSim2: read, run with its router, printed as it prints, compared with the program itself."""

from flitloom.booksim.options import Options, is_booksim, read_options
from flitloom.booksim.running import Outcome, run

__all__ = ["Options", "Outcome", "is_booksim", "read_options", "run"]
