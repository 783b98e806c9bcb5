"""Code: alignment of tokens with syntax, by hand, and against the reference in plain Python."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metric.test_documents import Pieces
from tests.support.processes import value
from tokbench.errors import TokbenchError
from tokbench.metric import code as module
from tokbench.metric.code import CLASSES, CodeCounts, CodeOptions, class_of, code, indentations, leaves, parser_of
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement
from tokbench.reference import documents as reference

EXTRA = "needs the extra tokbench[code]"
pytest.importorskip("tree_sitter", reason=EXTRA)
pytest.importorskip("tree_sitter_python", reason=EXTRA)
DROPPED, RAW = "a first space of a token left out", "tokens with their first space"


def measured(*pieces: str, language: str = "python", **options: Any) -> list[tuple[str, Measurement]]:
    tokenizer = Pieces(pieces)
    return code(Documents(tokenizer, lambda: [(language, text) for text in tokenizer.known]), CodeOptions(**options))


def rows_of(*pieces: str, **options: Any) -> list[Measurement]:
    return [row for _, row in measured(*pieces, **options)]


@pytest.mark.parametrize(
    ("pieces", "raw", "dropped"),
    [("return| total", 0.5, 1), ("ret|urn total", 0, 0), ("return| |total", 1, 1), ("return  |total", 0.5, 0.5)],
)
def test_alignment_with_the_space_before_a_word(pieces: str, raw: float, dropped: float) -> None:
    rows = rows_of(pieces)
    assert (
        value(rows, "syntax_alignment", f"leaves that begin and end with a token / leaves of syntax trees; {RAW}")
        == raw
    )
    assert value(rows, "syntax_alignment", f"leaves of syntax trees; {DROPPED}") == dropped


def test_fragmentation_of_identifiers() -> None:
    names = ["self"] * 10 + ["i"] * 5 + ["process|_|data"] * 3 + ["My|Auth|entication|Factory"]
    rows = rows_of("|".join(f"{name}|\n" for name in names))
    assert value(rows, "fragmented_identifiers") == pytest.approx(4 / 19)
    assert value(rows, "tokens_per_identifier") == pytest.approx(28 / 19)
    with_space = rows_of("return| total|\n")
    assert value(with_space, "fragmented_identifiers") == 0


def test_classes() -> None:
    text = "if x.y >= f('a', 1) and not None:\n    return {}  # no leaf\n"
    found = [(leaf.kind, text[leaf.start : leaf.end]) for leaf in leaves(parser_of("python"), text.encode())]
    by_class = {kind: [name for other, name in found if other == kind] for kind in CLASSES}
    assert by_class == {
        "identifier": ["x", "y", "f"],
        "keyword": ["if", "and", "not", "return"],
        "operator": [">="],
        "literal": ["'", "a", "'", "1", "None"],
        "delimiter": ["(", ",", ")", "{", "}"],
    }
    assert class_of("this", True, "this") == class_of("if", False, "if") == "keyword"
    assert (
        class_of("comment", True, "# if")
        == class_of("::", False, "::")
        == class_of("primitive_type", True, "int")
        == ""
    )
    assert class_of("=>", False, "=>") == "operator"


def test_leaves_in_errors_are_not_scored() -> None:
    broken = leaves(parser_of("python"), b"x = 1\n) ) y (\n")
    assert [leaf.start for leaf in broken] == [0, 2, 4]


def test_depth_and_tokens_of_indentation() -> None:
    assert [*indentations(b"a\n  b\n\n   \n\tc\n    d\n")] == [(2, 4, 1), (11, 12, 4), (14, 18, 2)]
    lines = ["if a:\n|  |if b:\n|  |  |if c:\n|  |  |  |d\n"]
    rows = rows_of(*lines)
    assert value(rows, "indentation_correlation") == pytest.approx(1)
    joined = rows_of("if a:|\n  |if b:|\n    |if c:|\n      |d\n")
    assert value(joined, "indentation_correlation") is None  # Every line has one token of white space.
    few = rows_of("if a:\n|  |if b:\n|  |  |c\n")
    assert "fewer than three depths" in str(next(row.reason for row in few if row.metric == "indentation_correlation"))


def test_languages_have_their_own_rows() -> None:
    pytest.importorskip("tree_sitter_c", reason=EXTRA)
    tokenizer = Pieces(["return| total", "int| x|;", "no| code"])
    tags = dict(zip(tokenizer.known, ("python", "c", "eng"), strict=True))
    rows = code(Documents(tokenizer, lambda: [(tags[text], text) for text in tokenizer.known]), CodeOptions())
    assert list(dict.fromkeys(language for language, _ in rows)) == ["", "c", "python"]
    leaves_of = {language: row.n for language, row in rows if row.metric == "syntax_start_alignment"}
    assert leaves_of == {"": 4, "c": 2, "python": 2}
    assert measured("no| code", language="eng") == []
    assert measured("return| total", language="") == []
    [first, *_] = measured("return| total", language="", grammars={"": "python"})
    assert (first[0], first[1].value) == ("", 1)


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parser_of", lambda grammar: None)
    rows = rows_of("return| total")
    line = "the metric code needs tree-sitter and the grammar python; pip install 'tokbench[code]'"
    assert {(row.value, row.reason) for row in rows if row.metric != "syntax_leaves_left_out"} == {(None, line)}
    assert measured("no| code", language="eng") == []
    with pytest.raises(TokbenchError, match="needs tree-sitter and the grammar python"):
        measured("return| total", grammars={"py": "python"})


def test_names_of_grammars() -> None:
    with pytest.raises(ValueError, match="is not the name of a grammar"):
        CodeOptions(grammars={"py": "os; x"})


CODE = ["def ", "f", "(", "x", ")", ":", "\n", "    ", "return ", "x", " + ", "'a b'", " ", "if ", "größe", "=="]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CODE), min_size=1, max_size=20), st.data())
def test_as_the_reference(parts: Sequence[str], data: st.DataObject) -> None:
    text = "".join(parts).encode()
    places = data.draw(st.sets(st.integers(1, max(len(text) - 1, 1))))
    edges = [0, *sorted(place for place in places if place < len(text)), len(text)]
    tokens = [text[start:end] for start, end in pairwise(edges)]
    found = leaves(parser_of("python"), text)
    counts = CodeCounts()
    ends = np.cumsum([0, *map(len, tokens)])
    spans_of_tokens = np.stack([ends[:-1], ends[1:]], axis=1)
    document = TokenizedDocument("", text, np.zeros(len(tokens), np.int32), spans_of_tokens)
    counts.add(document, parser_of("python"), indented=True)
    spans = [leaf[:2] for leaf in found]
    for form in ("raw", "dropped"):
        pairs = reference.alignment(text, tokens, spans, drop=form == "dropped")
        for kind in CLASSES:
            of_kind = [pair for pair, leaf in zip(pairs, found, strict=True) if leaf.kind == kind]
            assert counts.aligned[form, "both", kind] == sum(start and end for start, end in of_kind)
            assert counts.aligned[form, "start", kind] == sum(start for start, _ in of_kind)
            assert counts.aligned[form, "end", kind] == sum(end for _, end in of_kind)
    names = [leaf[:2] for leaf in found if leaf.kind == "identifier"]
    touched = reference.tokens_of_spans(tokens, names)
    assert (counts.touched, counts.fragmented) == (sum(touched), sum(number > 1 for number in touched))
