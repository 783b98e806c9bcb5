"""Token counts of the documents of each language, for external tokenizers.

Existing tokenizers are compared by language, and by tokens per word and per character. Their counts therefore also have
the language, characters, words and lines of documents, and the documents that decoding does not restore.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from tokbench.corpus.languages import tag_of_untagged
from tokbench.metric.measurement import in_groups
from tokbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document

NAMES = ("document", "documents", "bytes", "characters", "words", "lines", "tokens", "documents_changed")
"""Lists of numbers, in addition to ``language``."""
BY_LANGUAGE = "by_language"
"""Key of the lists in a result."""


class LanguageTokens:
    """Counter of the documents of each language.

    Args:
        tokenizer: the tokenizer.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._rows: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)

    def add(self, document: "Document") -> int:
        """Add a document and return its number of tokens."""
        text = document.text
        if self._tokenizer.lossless:
            tokens, changed = self._tokenizer.count(text), False
        else:
            ids = self._tokenizer.encode(text)
            tokens, changed = len(ids), self._tokenizer.restored(ids) != text
        decoded = text.decode("utf-8", "replace")
        lines = sum(1 for line in text.split(b"\n") if line.strip())
        row = (document.document, 1, len(text), len(decoded), len(decoded.split()), lines, tokens, int(changed))
        self._rows[document.language].append(row)
        return tokens

    def lists(self) -> dict[str, list[object]]:
        """Return a list for each column: ``language`` and :data:`NAMES`.

        Rows are documents, or groups of documents of one language if it has more than 1,000.
        """
        untagged = tag_of_untagged(self._rows)
        columns: dict[str, list[object]] = {name: [] for name in ("language", *NAMES)}
        for language, rows in sorted(self._rows.items()):
            table = in_groups(np.array(rows, np.int64).reshape(-1, len(NAMES)))
            columns["language"] += [language or untagged] * len(table)
            for place, name in enumerate(NAMES):
                columns[name] += table[:, place].tolist()
        return columns


def language_tokens(tokenizer: Tokenizer) -> LanguageTokens | None:
    """Return the counter of an external tokenizer; None for one that Tokbench built."""
    return LanguageTokens(tokenizer) if "imported" in tokenizer.origin else None
