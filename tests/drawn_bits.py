"""Bits of documents that are drawn: those of three variants, so much apart."""

import numpy as np
import polars as pl

from tokbench.tabulation.document_bits import DOCUMENT_BITS

LEVELS = {"a": 1.9, "b": 2.0, "c": 2.001}


def documents_of(
    levels: dict[str, float], *, seeds: int = 4, documents: int = 12, noise: float = 0.004, languages: int = 1
) -> pl.DataFrame:
    """Bits of documents in so many languages; of a variant whose level is a tuple, those of each language."""
    rng = np.random.default_rng(4)
    rows = []
    own = rng.normal(0, 0.1, documents)
    for seed in range(seeds):
        for variant, level in levels.items():
            run = rng.normal(0, noise)
            for document in range(documents):
                size = 500 + 20 * document
                bits = size * (level + own[document] + run + rng.normal(0, noise))
                language = f"l{document % languages}"
                rows.append(("m (4 seeds)", variant, 1024, "words", "books", document, language, size, bits, 0, seed))
    return pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")
