"""Vocabularies, pre-tokens and ids are those of every other machine, whose checksums are kept."""

import json

from tests.portability.vocabularies import EXPECTED, checksums


def test_results_are_those_of_every_machine() -> None:
    """A change that is meant to change vocabularies writes them again, and says so in the changelog."""
    assert checksums() == json.loads(EXPECTED.read_text(encoding="utf-8"))
