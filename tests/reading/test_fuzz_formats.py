"""Four hundred cases of each of the fuzzers of others' plans and traces, and what they ever found."""

import pytest

from fuzz_formats import READERS, fuzz


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("first", "last"), [(0, 50), pytest.param(50, 400, marks=pytest.mark.long)])
def test_cases_of_a_reader(reader, first, last):
    assert fuzz.fuzz(reader, first, last) == {}


@pytest.mark.parametrize(
    "file",
    [file for reader in READERS for file in sorted((fuzz.CORPUS / reader).glob("found-*"))],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_what_was_found(file):
    assert fuzz.complaint(file.parent.name, file) == ""
