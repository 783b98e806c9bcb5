"""Sequences of patterns as one automaton: a second cuts the pieces of the first, as one after the other would."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.kernels.scan import boundaries, settled_before
from tokbench.patterns import scanner_of
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.well_known import CL100K, NANOCHAT, O200K, TEKKEN
from tokbench.splitting import cut_by_characters, search

GPT2 = str(pretokenization_of("gpt2").splits[0])  # type: ignore[index]
NUMBER, THREE, DIGIT, HAN, MARKED = r"\p{N}", r"\p{N}{1,3}", r"\d|[^\d]+", "[一-龥]", r"\p{L}\p{M}*"
COMPILED = [
    *((GPT2, second) for second in (NUMBER, THREE, DIGIT, HAN)),
    *((CL100K, second) for second in (NUMBER, THREE, MARKED)),
    *((O200K, second) for second in (NUMBER, THREE)),
    (TEKKEN, DIGIT),
    (NANOCHAT, THREE),
    (GPT2, THREE, NUMBER),
    (GPT2, HAN, NUMBER),
    (r"\p{N}{1,3}", GPT2, HAN),
    ("ab|[^a]|a", "b|[^b]+"),
]
NOT_COMPILED = [
    (GPT2, r"\s"),  # What is left of blanks is cut otherwise where a scan starts anew.
    (GPT2, "a+b"),  # It reads on in vain.
    (GPT2, r"\d+$"),  # It looks for the end, which every piece has.
    (CL100K, DIGIT),  # Numbers that are no digits count on.
    (r"\p{L}\p{M}*", NUMBER),  # It leaves text between its matches.
    ("a(?:bcd)?|[^a]", "b"),  # Whether the first goes on to there is not known there.
]
PIECES = [*"aB1\u00bd\u00b2 \n'\u4e2d\u00e9b!", "'s", "12", "1234", "  ", "e\u0301", "\u3000"]
TEXTS = st.lists(st.sampled_from([*(one.encode() for one in PIECES), b"\xff", b"\xe4\xb8"]), max_size=40).map(b"".join)


@pytest.mark.parametrize("patterns", COMPILED)
def test_pieces_are_those_of_one_after_the_other(patterns: tuple[str, ...]) -> None:
    scanner = scanner_of(patterns)
    assert scanner is not None
    slow = cut_by_characters(*map(search, patterns), splits=patterns).boundaries

    @settings(max_examples=60)
    @given(TEXTS, st.sampled_from([1, 12]))
    def agree(text: bytes, times: int) -> None:
        text *= times
        found = boundaries(scanner, text)
        assert found.tolist() == slow(text).tolist()
        if cut := settled_before(scanner, text, len(text)):
            parts = [*boundaries(scanner, text[:cut]).tolist(), *(boundaries(scanner, text[cut:])[1:] + cut).tolist()]
            assert parts == found.tolist()

    agree()


@pytest.mark.parametrize("patterns", NOT_COMPILED)
def test_what_is_not_compiled(patterns: tuple[str, ...]) -> None:
    assert scanner_of(patterns) is None


@settings(max_examples=60)
@given(TEXTS)
def test_steps_that_are_compiled_go_first(text: bytes) -> None:
    """Digits from the right are counted from the end of a number, which no scanner does; what precedes them is."""
    scheme = pretokenization_of(
        {"method": "sequence", "steps": ["gpt2", {"method": "regex", "pattern": HAN}, "digits"]}
    )
    assert scheme.scanner is None
    assert scheme.splits is not None
    slow = cut_by_characters(*map(search, scheme.splits), splits=scheme.splits).boundaries
    assert scheme.boundaries(text).tolist() == slow(text).tolist()


def test_a_sequence_of_schemes_has_a_scanner() -> None:
    scheme = pretokenization_of({"method": "sequence", "steps": ["gpt2", "digit"]})
    assert scheme.scanner is not None
    assert scheme.boundaries(b"in 1984, ").tolist() == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    assert pretokenization_of({"method": "sequence", "steps": ["none", "gpt2"]}).scanner is not None
