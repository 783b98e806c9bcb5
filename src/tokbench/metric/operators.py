"""Operators of code and mathematics: whether tokens separate them from operands, and keep those of two signs.

Definitions of TokEval (tokenizer-intrinsic-evals). Operators of two signs are read first. An operator is isolated if
the tokens with bytes of it have no other byte that is not white space. An operator of two signs is preserved if it is
within one token. In prose, ``-`` and ``/`` are punctuation: name the languages of code in ``languages``.

Reference: the tests spell out every operator sign by sign.
"""

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement, ratio
from tokbench.options import Options

CLASSES = {
    "arithmetic": (b"+", b"-", b"*", b"/", b"//", b"%", b"**"),
    "comparison": (b"<", b">", b"<=", b">=", b"==", b"!="),
    "assignment": (b"=", b"=>"),
    "logical": (b"&", b"|", b"^", b"~", b"&&", b"||"),
    "shift": (b"<<", b">>"),
    "ternary": (b"?:",),
}
"""Operators by class; ``!`` has none."""
CLASS_OF = {operator: name for name, operators in CLASSES.items() for operator in operators}
OPERATOR = re.compile(rb"\*\*|//|<<|>>|<=|>=|=>|==|!=|&&|\|\||\?:|[-+*/=<>!&|^~%]")


class OperatorOptions(Options):
    languages: tuple[str, ...] | None = None
    """Languages of the documents that are read, such as ``python``. Default: all documents."""


class OperatorCounts:
    """Counts of operators.

    Attributes:
        by_class: number of operators by class, ``""`` for those of no class.
        isolated: those that are isolated.
        compound: number of operators of two signs.
        preserved: those within one token.
        left_out: number of operators with bytes in no token.
    """

    def __init__(self) -> None:
        self.by_class: Counter[str] = Counter()
        self.isolated: Counter[str] = Counter()
        self.compound = self.preserved = self.left_out = 0

    def add(self, document: TokenizedDocument) -> None:
        """Count the operators of a document."""
        matches = [*OPERATOR.finditer(document.text)]
        if not matches:
            return
        edges = np.array([match.span() for match in matches], np.int64)
        covered = document.are_covered(edges[:, 0], edges[:, 1]).tolist()
        first, last = document.token_ranges(edges[:, 0], edges[:, 1]).T
        tokens = (last - first).tolist()
        has_tokens = len(document.spans) > 0
        left = document.spans[np.minimum(first, len(document.spans) - 1), 0].tolist() if has_tokens else tokens
        right = document.spans[np.maximum(last - 1, 0), 1].tolist() if has_tokens else tokens
        for match, touched, begin, stop, whole in zip(matches, tokens, left, right, covered, strict=True):
            if not whole:
                self.left_out += 1
                continue
            start, end = match.span()
            name = CLASS_OF.get(match.group(), "")
            text = document.text[begin:start] + document.text[end:stop]
            self.by_class[name] += 1
            self.isolated[name] += not text.strip()
            if end - start > 1:
                self.compound += 1
                self.preserved += touched == 1


def count_operators(documents: Iterable[TokenizedDocument], languages: Iterable[str] | None = None) -> OperatorCounts:
    """Return the counts of documents, of all languages or of those that are named."""
    chosen = None if languages is None else set(languages)
    counts = OperatorCounts()
    for document in documents:
        if chosen is None or document.language in chosen:
            counts.add(document)
    return counts


@metric(
    "operators",
    options=OperatorOptions,
    of="documents",
    cites=(),
    shown=(
        Shown("isolated_operators", "operators", "isolated", "isolated operators /"),
        *(Shown("isolated_operators", "operators", f"{name}, isolated", f"isolated {name}") for name in CLASSES),
        Shown("preserved_operators", "operators", "two signs in one token"),
        Shown("operators_left_out", "operators", "operators left out"),
    ),
)
def operators(documents: Documents, options: OperatorOptions) -> list[Measurement]:
    """Return the share of operators that tokens isolate, by class, and of operators of two signs in one token."""
    counts = count_operators(documents, options.languages)
    operators_by_class, isolated = counts.by_class, counts.isolated
    none, name = "no such operator of the text has all its bytes in tokens", "isolated_operators"
    left_out = "operators that are left out, as some of their bytes are in no token"
    return [
        ratio(name, "isolated operators / operators", isolated.total(), operators_by_class.total(), none),
        *(
            ratio(name, f"isolated {kind} operators / {kind} operators", isolated[kind], operators_by_class[kind], none)
            for kind in CLASSES
        ),
        ratio(
            "preserved_operators",
            "operators of two signs that are within one token / operators of two signs",
            counts.preserved,
            counts.compound,
            none,
        ),
        Measurement(
            "operators_left_out", left_out, float(counts.left_out), operators_by_class.total() + counts.left_out
        ),
    ]
