"""How this process was started; imports next to nothing, so that Ctrl-C is answered from the first moment."""

import os


def speaks() -> bool:
    """Whether this process tells the user: of those that ``mpiexec`` started, the first one does."""
    return all(os.environ.get(name, "0") == "0" for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK"))
