"""Code: whether tokens begin and end where the syntax does, tokens per identifier, and tokens of indentation.

Definitions of TokEval (tokenizer-intrinsic-evals). Tree-sitter parses each document. Leaves of its syntax tree outside
of errors are identifiers, keywords, operators, literals and delimiters; other leaves, such as comments, are not scored.
A leaf is aligned if a token begins at its start and a token ends at its end. Many tokens begin with the space before a
word, so every rate has two forms: of tokens as they are, and of tokens without a first space. A leaf with bytes in no
token is left out.

The parsers are the packages of the extra ``tokbench[code]``.

Reference: ``alignment`` in :mod:`tokbench.reference.documents`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from importlib import import_module
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from tokbench.corpus.languages import tag_of_untagged
from tokbench.errors import TokbenchError
from tokbench.kernels.exact import correlation
from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.numbers import average_ranks
from tokbench.options import Options

GRAMMARS = ("c", "cpp", "go", "haskell", "java", "javascript", "python", "rust")
"""Grammars of the extra ``tokbench[code]``."""
INDENTED = ("haskell", "python")
"""Grammars whose indentation has a meaning."""
LEAST_DEPTHS = 3
"""Fewest depths of a correlation."""
SPACE = 0x20
INSTALL = "the metric code needs tree-sitter and the grammar {}; pip install 'tokbench[code]'"
CLASSES = ("identifier", "keyword", "operator", "literal", "delimiter")
DELIMITERS = frozenset("(){}[];,")
NO_OPERATORS = frozenset((".", ":", "::", "@", "#", "...", "\\"))
TYPES = {
    "identifier": (
        "identifier type_identifier field_identifier property_identifier shorthand_property_identifier "
        "shorthand_property_identifier_pattern variable_name name attribute word"
    ),
    "literal": (
        "string string_literal string_content string_fragment string_start string_end raw_string_literal "
        "template_string interpreted_string_literal interpreted_string_literal_content raw_string_literal_content "
        "escape_sequence heredoc_body char char_literal character character_literal rune_literal integer "
        "integer_literal int_literal decimal_integer_literal hex_integer_literal octal_integer_literal "
        "binary_integer_literal float float_literal decimal_floating_point_literal hex_floating_point_literal "
        "imaginary_literal number number_literal true false none null nil boolean boolean_literal null_literal regex "
        "regex_pattern regex_flags"
    ),
}
CLASS_OF_TYPE = {name: kind for kind, names in TYPES.items() for name in names.split()}
"""Class of a leaf by its type in the grammar."""
NAMED_KEYWORDS = (
    "abstract and as async auto await begin break case catch class const continue crate def default delete do elif "
    "else end enum except export extends extern final finally fn for from func function if impl import in instanceof "
    "interface is lambda let local match mod module mut namespace new not object or package pass private protected "
    "pub public raise ref return self static struct super switch this throw throws trait try type typeof union unless "
    "until use using val var void when where while with yield"
)
KEYWORDS = frozenset(NAMED_KEYWORDS.split())
"""Words that are keywords in leaves that have a name in the grammar, such as ``this``."""
FORMS = {"dropped": "; a first space of a token left out", "raw": "; tokens with their first space"}
"""End of the definition, by form of a rate."""
EDGES = {"both": "that begin and end with a token", "start": "that begin with a token", "end": "that end with a token"}


class CodeOptions(Options):
    grammars: dict[str, str] = Field(default_factory=dict)
    """Grammar of tree-sitter by language of documents, as in ``{py: python}``; the language of documents without one is
    ``""``. A grammar needs the package ``tree_sitter_NAME``. Default: documents whose language is c, cpp, go, haskell,
    java, javascript, python or rust."""

    @field_validator("grammars")
    @classmethod
    def _names(cls, grammars: dict[str, str]) -> dict[str, str]:
        for name in grammars.values():
            if not (name.isascii() and name.isidentifier()):
                raise ValueError(f"{name!r:.60} is not the name of a grammar; write one as in python")
        return grammars


class Leaf(NamedTuple):
    """A leaf of a syntax tree: start and end in bytes, and its class."""

    start: int
    end: int
    kind: str


@cache
def parser_of(grammar: str) -> Any:
    """Return the parser of a grammar; None if a package is not installed."""
    try:
        tree_sitter = import_module("tree_sitter")
        language = import_module(f"tree_sitter_{grammar}").language()
    except ModuleNotFoundError:
        return None
    return tree_sitter.Parser(tree_sitter.Language(language))


def class_of(kind: str, named: bool, text: str) -> str:
    """Return the class of a leaf; empty if it is not scored.

    Args:
        kind: its type in the grammar.
        named: True if it has a name in the grammar; False for a sign or word of the grammar itself.
        text: its text.
    """
    if text in DELIMITERS:
        return "delimiter"
    if kind in CLASS_OF_TYPE:
        return CLASS_OF_TYPE[kind]
    if text.isalpha() and (text in KEYWORDS if named else kind == text):
        return "keyword"
    return "operator" if not (named or text.isalnum() or text in NO_OPERATORS) and text.strip() else ""


def leaves(parser: Any, text: bytes) -> list[Leaf]:
    """Return the scored leaves of the syntax tree of a text, in order."""
    leaves_found: list[Leaf] = []
    pending = [parser.parse(text).root_node]
    while pending:
        node = pending.pop()
        if node.is_error:
            continue
        if node.child_count:
            pending += reversed(node.children)
            continue
        start, end = node.start_byte, node.end_byte
        kind = class_of(node.type, node.is_named, text[start:end].decode("utf-8", "replace")) if end > start else ""
        if kind:
            leaves_found.append(Leaf(start, end, kind))
    return leaves_found


def indentations(text: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and depth of the indentation of each indented line that is not blank.

    Depth is the width, with tabs expanded to 8 columns, divided by the greatest common divisor of the text's widths.
    """
    spans, place = [], 0
    for line in text.split(b"\n"):
        bare = line.lstrip()
        if bare and len(bare) < len(line):
            size = len(line) - len(bare)
            spans.append((place, place + size, len(line[:size].expandtabs())))
        place += len(line) + 1
    unit = gcd(*(width for _, _, width in spans)) or 1
    yield from ((start, end, width // unit) for start, end, width in spans)


class CodeCounts:
    """Counts over the syntax leaves of documents.

    Attributes:
        leaves: leaves by class.
        aligned: leaves by form, edge and class, see :data:`FORMS`, :data:`EDGES` and :data:`CLASSES`.
        fragmented: identifiers with bytes in several tokens.
        touched: tokens with bytes of identifiers; a token with bytes of several counts for each.
        left_out: leaves with bytes in no token.
        depths: indented lines by depth and number of tokens of white space in the indentation.
    """

    def __init__(self) -> None:
        self.leaves: Counter[str] = Counter()
        self.aligned: Counter[tuple[str, str, str]] = Counter()
        self.fragmented = self.touched = self.left_out = 0
        self.depths: Counter[tuple[int, int]] = Counter()

    def add(self, document: TokenizedDocument, parser: Any, *, indented: bool) -> None:
        """Count the leaves of a document, and its indentation if that has a meaning."""
        document_leaves = leaves(parser, document.text)
        if document_leaves:
            self._add_leaves(document, document_leaves)
        if indented:
            self._add_indentations(document)

    def _add_leaves(self, document: TokenizedDocument, document_leaves: list[Leaf]) -> None:
        edges = np.array([leaf[:2] for leaf in document_leaves], np.int64)
        covered = document.are_covered(edges[:, 0], edges[:, 1])
        self.left_out += len(document_leaves) - int(covered.sum())
        kinds = np.array([CLASSES.index(leaf.kind) for leaf in document_leaves], np.int64)[covered]
        starts, ends = edges[covered].T
        self.leaves.update(_by_class(kinds))
        first = document.spans[:, 0]
        bare = first[np.frombuffer(document.text, np.uint8)[first] == SPACE] + 1
        begins = (starts == 0) | document.are_borders(starts)
        stops = (ends == len(document.text)) | document.are_borders(ends)
        forms = {"raw": (begins, stops), "dropped": (begins | np.isin(starts, bare), stops | np.isin(ends, bare))}
        for form, (begin, stop) in forms.items():
            for edge, chosen in (("both", begin & stop), ("start", begin), ("end", stop)):
                for kind, number in _by_class(kinds[chosen]).items():
                    self.aligned[form, edge, kind] += number
        names = kinds == CLASSES.index("identifier")
        tokens = np.diff(document.token_ranges(starts[names], ends[names]), axis=1)[:, 0]
        self.touched += int(tokens.sum())
        self.fragmented += int((tokens > 1).sum())

    def _add_indentations(self, document: TokenizedDocument) -> None:
        lines = [*indentations(document.text)]
        places = np.array(lines, np.int64).reshape(-1, 3)
        covered = document.are_covered(places[:, 0], places[:, 1]).tolist()
        touching = document.token_ranges(places[:, 0], places[:, 1]).tolist()
        for (_, _, depth), (low, high), whole in zip(lines, touching, covered, strict=True):
            if whole:
                spans = document.spans[low:high].tolist()
                self.depths[depth, sum(not document.text[start:end].strip() for start, end in spans)] += 1

    def plus(self, other: "CodeCounts") -> "CodeCounts":
        """Return the sums of both."""
        total = CodeCounts()
        for name in ("leaves", "aligned", "fragmented", "touched", "left_out", "depths"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total


def _by_class(kinds: NDArray[np.int64]) -> dict[str, int]:
    """Return the number of leaves of each class from their indices, int64 [leaves]."""
    return dict(zip(CLASSES, np.bincount(kinds, minlength=len(CLASSES)).tolist(), strict=True))


def count_code(documents: Documents, grammars: Mapping[str, str]) -> tuple[dict[str, CodeCounts], set[str]]:
    """Return the counts by language of documents, and the grammars that are not installed.

    Args:
        documents: tokenized documents; those of other languages are left out.
        grammars: grammar by language.
    """
    by_language: dict[str, CodeCounts] = {}
    missing: set[str] = set()
    for document in documents:
        grammar = grammars.get(document.language)
        if grammar is None:
            continue
        parser = parser_of(grammar)
        counts = by_language.setdefault(document.language, CodeCounts())
        if parser is None:
            missing.add(grammar)
        else:
            counts.add(document, parser, indented=grammar in INDENTED)
    return by_language, missing


@metric(
    "code",
    options=CodeOptions,
    of="documents",
    per_language=True,
    cites=(),
    better={"fragmented_identifiers": "lowest", "tokens_per_identifier": "lowest"},
    shown=(
        Shown("syntax_alignment", "operators", "leaves of syntax aligned", f"leaves {EDGES['both']}"),
        *(Shown("syntax_alignment", "operators", f"{kind}s aligned", f"{kind}s {EDGES['both']}") for kind in CLASSES),
        Shown("syntax_alignment", "operators", "aligned, with first spaces", FORMS["raw"]),
        *(
            Shown(f"syntax_{edge}_alignment", "operators", f"{edge}s of leaves aligned{ending}", FORMS[form])
            for edge in ("start", "end")
            for form, ending in (("dropped", ""), ("raw", ", with first spaces"))
        ),
        Shown("fragmented_identifiers", "operators"),
        Shown("tokens_per_identifier", "operators"),
        Shown("indentation_correlation", "operators", "depth and tokens of indentation"),
        Shown("syntax_leaves_left_out", "operators", "leaves of syntax left out"),
    ),
)
def code(documents: Documents, options: CodeOptions) -> list[tuple[str, Measurement]]:
    """Return alignment of tokens with the leaves of syntax trees, tokens per identifier, and tokens of indentation.

    Without documents of code there is no row. If a grammar is not installed, rows have that as their reason.

    Raises:
        TokbenchError: the package of a grammar of the options is not installed.
    """
    for grammar in options.grammars.values():
        if parser_of(grammar) is None:
            raise TokbenchError(INSTALL.format(grammar))
    by_language, missing = count_code(documents, dict(zip(GRAMMARS, GRAMMARS, strict=True)) | options.grammars)
    if not by_language:
        return []
    none = INSTALL.format(sorted(missing)[0]) if missing else ""
    rows = [("", row) for row in _rows(reduce(CodeCounts.plus, by_language.values()), none)]
    if len(by_language) > 1:
        untagged = tag_of_untagged(by_language)
        rows += [(tag or untagged, row) for tag in sorted(by_language) for row in _rows(by_language[tag], none)]
    return rows


def _rows(counts: CodeCounts, missing: str) -> Iterator[Measurement]:
    """Yield the measurements of some counts; ``missing`` is the reason if a grammar is not installed, else empty."""
    if missing:
        counts = CodeCounts()
    none = missing or "no such leaf of the code has all its bytes in tokens"
    total_leaves = counts.leaves.total()
    for form, end in FORMS.items():
        for edge, where in EDGES.items():
            name = "syntax_alignment" if edge == "both" else f"syntax_{edge}_alignment"
            total = sum(counts.aligned[form, edge, kind] for kind in CLASSES)
            yield ratio(name, f"leaves {where} / leaves of syntax trees{end}", total, total_leaves, none)
        for kind in CLASSES:
            definition = f"{kind}s {EDGES['both']} / {kind}s{end}"
            yield ratio("syntax_alignment", definition, counts.aligned[form, "both", kind], counts.leaves[kind], none)
    names = counts.leaves["identifier"]
    yield ratio("fragmented_identifiers", "identifiers with bytes in several tokens / identifiers", counts.fragmented,
                names, none)  # fmt: skip
    yield ratio(
        "tokens_per_identifier", "tokens with bytes of an identifier / identifiers", counts.touched, names, none
    )
    yield _indentation(counts.depths, missing)
    left_out = "leaves of syntax trees that are left out, as some of their bytes are in no token"
    yield Measurement("syntax_leaves_left_out", left_out, float(counts.left_out), total_leaves + counts.left_out)


def _indentation(depths: Mapping[tuple[int, int], int], missing: str) -> Measurement:
    name = "indentation_correlation"
    definition = "Spearman's correlation of the depth of a line and its tokens of white space in the indentation"
    levels, tokens = {depth for depth, _ in depths}, {number for _, number in depths}
    if len(levels) < LEAST_DEPTHS or len(tokens) < 2:
        reason = missing or "indented lines of Python or Haskell have fewer than three depths, or all as many tokens"
        return Measurement(name, definition, None, 0, reason)
    pairs = sorted(depths)
    times = [depths[pair] for pair in pairs]
    x, y = (np.repeat(np.array([pair[side] for pair in pairs], np.float64), times) for side in (0, 1))
    return Measurement(name, definition, correlation(average_ranks(x), average_ranks(y))[0], len(x))
