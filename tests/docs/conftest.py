"""What the tests of documents share."""

import pytest

from warm_commands import command_line


@pytest.fixture(scope="session")
def programs():
    """A folder with a ``flitloom`` that starts warm."""
    with command_line() as folder:
        yield folder
