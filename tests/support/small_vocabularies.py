"""Small vocabularies by every construction, each built once in a process."""

from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import ODD, TOPICS
from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocuments
from tokbench.construction import constructions
from tokbench.pretokens.count import count_pretokens
from tokbench.vocabulary import Vocabulary

SIZE = 900
QUICK: dict[str, dict[str, Any]] = {
    "unigram": {"seed_size": 5000},
    "sage": {"dimensions": 8, "epochs": 1},
    "convextok": {"max_token_bytes": 8, "steps": 20},
    "toast": {"steps": 20},
}
"""Options that make a method quick on a small text."""


@cache
def vocabulary(method: str, scheme: str, scores: Path) -> Vocabulary:
    """Build a small vocabulary by one method; the file of scores has the documents, too."""
    construction = constructions[method]
    source: Any
    match construction.source:
        case "counts":
            source = count_pretokens([*TOPICS[:3], ODD], scheme)
        case "scores":
            source = ScoredDocuments((scores,), scheme)
        case "documents":
            source = Documents((scores,), scheme)
    options = construction.options(**QUICK.get(method, {}))
    size, extra = SIZE, {}
    if construction.initial:
        size, extra = 600, {"initial": vocabulary("ngram", scheme, scores)}
    built: Vocabulary = construction.function(source, size, options, seed=0, threads=1, **extra)
    return built
