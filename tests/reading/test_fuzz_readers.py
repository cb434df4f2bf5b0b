"""Four hundred cases of the fuzzer of every reader, and what they ever found."""

import pytest

import fuzz


@pytest.mark.parametrize("reader", fuzz.READERS)
@pytest.mark.parametrize(("first", "last"), [(0, 50), pytest.param(50, 400, marks=pytest.mark.long)])
def test_cases_of_a_reader(reader, first, last):
    assert fuzz.fuzz(reader, first, last) == {}


@pytest.mark.parametrize(
    "file",
    [file for reader in fuzz.READERS for file in sorted((fuzz.CORPUS / reader).glob("found-*"))],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_what_was_found(file):
    assert fuzz.complaint(file.parent.name, file) == ""
