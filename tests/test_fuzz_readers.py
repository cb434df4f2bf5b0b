"""A thousand cases of the fuzzer of every reader, and what they ever found."""

import pytest

import fuzz


@pytest.mark.parametrize("reader", fuzz.READERS)
def test_cases_of_a_reader(reader):
    assert fuzz.fuzz(reader, 0, 1000) == {}


@pytest.mark.parametrize(
    "file",
    [file for reader in fuzz.READERS for file in sorted((fuzz.CORPUS / reader).glob("found-*"))],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_what_was_found(file):
    assert fuzz.complaint(file.parent.name, file) == ""
