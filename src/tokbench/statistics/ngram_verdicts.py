"""What token n-gram models say of each pair of tokenizers: better, worse, or not told apart and within what.

A bootstrap draws the documents that there are, and of a handful it knows too little: with seven, all on one side give
the least p that there is. Student's t pays for the few.
"""

from collections.abc import Mapping
from dataclasses import astuple
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from tokbench.statistics.estimate import ratio_over_documents
from tokbench.statistics.judgement import judged, judgement_columns
from tokbench.statistics.pairing import WHICH, compared, unordered
from tokbench.tidy.columns import CORPUS, SIZE, A, B
from tokbench.tidy.ngrams import CANNOT, ORDER, TRAINING_BYTES
from tokbench.tidy.table import Column, Print, TidyTable

KEY = ("corpus", "training_bytes", "order", "size")
PLACE = ["document", "bytes"]
ONE_DOCUMENT = "one document: how much other documents would differ is not known"


def judge_ngram_bits(ngram_documents: pl.DataFrame, baselines_of_tokenizers: Mapping[str, str]) -> pl.DataFrame:
    """Every two tokenizers of a corpus, size, order and budget, by Student's t over documents.

    Returns:
        The columns of :data:`NGRAM_VERDICTS`, each two variants once.
    """
    rows: list[tuple[Any, ...]] = []
    for key, part in ngram_documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        wide = part.pivot("variant", index=PLACE, values="bits").drop_nulls().filter(pl.col("bytes") > 0).sort(PLACE)
        bits = {name: wide[name].to_numpy() for name in wide.columns if name not in PLACE}
        sizes = wide["bytes"].to_numpy().astype(np.float64)
        if not len(sizes):
            continue
        lowest = min(bits, key=lambda one: (fsum(bits[one].tolist()), one))
        pairs = sorted({(min(p), max(p)) for p in unordered(compared(list(bits), lowest, baselines_of_tokenizers))})
        if len(sizes) < 2:
            rows += [
                (*key, a, b, float((bits[a] - bits[b])[0] / sizes[0]), *[None] * 7, ONE_DOCUMENT, 1) for a, b in pairs
            ]
            continue
        found = judged([ratio_over_documents(bits[a] - bits[b], sizes) for a, b in pairs])
        rows += [(*key, *pair, *astuple(one), len(sizes)) for pair, one in zip(pairs, found, strict=True)]
    return pl.DataFrame(rows, schema=NGRAM_VERDICTS.schema, orient="row")


NGRAM_VERDICTS = TidyTable(
    "ngram_verdicts",
    f"two variants at a vocabulary size under the token n-gram models of an order and a budget; {WHICH}",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        A,
        B,
        *judgement_columns("by Student's t over documents", "all pairs of the corpus, size, order and budget"),
        Column("documents", pl.Int64, "test documents", "documents", "documents"),
    ),
    maker=judge_ngram_bits,
    takes=("ngram_documents", "baselines_of_tokenizers"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b at vocabulary size {size}, by token n-gram models of order {order} "
            "trained on {training_bytes} bytes, on the evaluation split of {corpus}; by Student's t over its "
            "documents, which allows for there being few. " + CANNOT,
            ("a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "documents"),
            by=KEY,
            files=("ngram_bits/{a}/{size}.json", "ngram_bits/{b}/{size}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
)
