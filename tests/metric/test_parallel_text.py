"""Parallel text: tokens per sentence and premiums, by hand and against the reference in plain Python."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metric.test_documents import Pieces
from tokbench.errors import TokbenchError
from tokbench.metric.documents import Documents
from tokbench.metric.measurement import Measurement
from tokbench.metric.parallel_text import ParallelTextOptions, parallel_text
from tokbench.reference.documents import premiums


def measured(*documents: tuple[str, str], **options: Any) -> list[tuple[str, Measurement]]:
    tokenizer = Pieces([pieces for _, pieces in documents])
    texts = [(language, pieces.replace("|", "").encode()) for language, pieces in documents]
    return parallel_text(Documents(tokenizer, lambda: texts), ParallelTextOptions(**options))


def values(rows: list[tuple[str, Measurement]]) -> dict[tuple[str, str], float | None]:
    return {(language, row.metric): row.value for language, row in rows}


EN, DE, TH = ("en", "a|\nb\n"), ("de", "c|d\n\n| e|\n"), ("th", "f|g|\n|h|i|\n| ")


def test_premiums_and_gini() -> None:
    rows = measured(EN, DE, TH)
    assert values(rows) == {
        ("", "premium_gini"): pytest.approx(10 / 39),
        ("de", "tokens_per_sentence"): 2.0,
        ("de", "premium"): 2.0,
        ("en", "tokens_per_sentence"): 1.0,
        ("en", "premium"): 1.0,
        ("th", "tokens_per_sentence"): 3.5,
        ("th", "premium"): 3.5,
    }
    named = values(measured(EN, DE, TH, reference="de"))
    assert [named[language, "premium"] for language in ("en", "de", "th")] == [0.5, 1, 1.75]
    with pytest.raises(TokbenchError, match="the text has no language 'fr'; name one of de, en, th"):
        measured(EN, DE, TH, reference="fr")


def test_text_that_is_not_parallel() -> None:
    assert measured(EN) == []
    [(language, row)] = measured(EN, ("de", "c"))
    assert (language, row.metric, row.value) == ("", "premium_gini", None)
    assert "different numbers of sentences" in str(row.reason)


def test_untagged_documents_are_a_language() -> None:
    rows = values(measured(("", "a\n|b\n"), DE))
    assert rows["und", "premium"] == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(("en", "de")), st.text("a|\n", min_size=1, max_size=8)), max_size=6))
def test_as_the_reference(pieces: list[tuple[str, str]]) -> None:
    documents = {text.replace("|", ""): (language, text) for language, text in pieces}
    chosen = [*documents.values(), ("en", "x|y|\nx"), ("de", "z")]
    rows = values(measured(*chosen, reference="en"))
    spelt = [(language, text.replace("|", "").encode(), len(text.split("|"))) for language, text in chosen]
    expected = premiums(spelt, "en")
    found = {language: value for (language, name), value in rows.items() if name == "premium"}
    assert found == (pytest.approx(expected) if expected else {})
