"""Bits per byte of token n-gram models: by language, and of each document."""

from collections.abc import Iterable, Iterator
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.columns import CANNOT, CORPUS, LANGUAGE, ORDER, SIZE, TRAINING_BYTES, VARIANT
from tokbench.tabulation.reading import Row, table_of_results
from tokbench.tabulation.table import Column, Print, TidyTable


def ngram_bits_table(ngram_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits per byte of every model, for the full test text and each language if there are several.

    Args:
        ngram_files: results of ``tokbench ngram_bits``, in any order.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    order = ("corpus", "language", "training_bytes", "order", "size", "variant")
    return table_of_results(ngram_files, NGRAM_BITS, _language_bits, *order).fill_nan(None)


def _language_bits(result: Any) -> Iterator[Row]:
    """Yield a row for each model and language, and for each model and all languages."""
    documents = result["documents"]
    training = {counts["training_bytes"]: counts for counts in result["training"]}
    # A text of one language has no rows by language.
    languages: dict[str, list[int]] = {"": list(range(len(documents)))}
    for number, document in enumerate(documents):
        languages.setdefault(document["language"], []).append(number)
    if len(languages) == 2:
        languages = {"": languages[""]}
    # Texts without bytes have no value.
    for model in result["models"]:
        counts = training[model["training_bytes"]]
        for language, numbers in languages.items():
            size, lost = (sum(documents[number].get(key, 0) for number in numbers) for key in ("bytes", "bytes_lost"))
            if size:
                yield {
                    **model,
                    "language": language,
                    "value": fsum(model["bits"][number] for number in numbers) / size,
                    "documents": len(numbers),
                    "bytes": size,
                    "vocabulary": result["vocabulary"],
                    "training_tokens": counts["tokens"],
                    "unused_entries": counts["unused_entries"],
                    "unseen_tokens": counts["unseen_tokens"],
                    "bytes_lost": lost,
                }


def ngram_documents_table(ngram_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits of every document under every model; see :func:`ngram_bits_table`."""
    order = ("corpus", "training_bytes", "order", "size", "variant", "document")
    return table_of_results(ngram_files, NGRAM_DOCUMENTS, _document_bits, *order).fill_nan(None)


def _document_bits(result: Any) -> Iterator[Row]:
    """Yield a row for each model and document."""
    for model in result["models"]:
        for document, bits in zip(result["documents"], model["bits"], strict=True):
            yield {**model, "bytes_lost": 0, **document, "bits": bits}


LOST = Column("bytes_lost", pl.Int64,
              "upper limit on bytes lost when its tokens are decoded; bits are divided by all bytes nevertheless",
              "bytes")  # fmt: skip
_FILES = ("ngram_bits/{variant}/{size}.json",)
NGRAM_BITS = TidyTable(
    "ngram_bits",
    "a tokenizer's token n-gram model of one order and budget, on a text or a language of it",
    (
        VARIANT,
        SIZE,
        CORPUS,
        LANGUAGE,
        ORDER,
        TRAINING_BYTES,
        Column("value", pl.Float64, "bits of the test documents, including their ends / bytes of their text",
               "bits per byte", "bits per byte", 4),
        Column("documents", pl.Int64, "test documents", "documents"),
        Column("bytes", pl.Int64, "bytes of their text", "bytes"),
        Column("vocabulary", pl.Int64, "vocabulary entries, used or not; they share the probability of unseen tokens",
               "tokens"),
        Column("training_tokens", pl.Int64, "tokens that the model was trained on", "tokens"),
        Column("unused_entries", pl.Int64, "vocabulary entries that do not occur in the training text", "tokens"),
        Column("unseen_tokens", pl.Int64, "tokens of the full test text that do not occur in the training text",
               "tokens"),
        LOST,
    ),
    maker=ngram_bits_table,
    takes=("files.ngram_bits",),
    keys=("variant", "size", "corpus", "language", "order", "training_bytes"),
    command="tabulate",
    prints=(
        Print(
            "intrinsic",
            "Bits per byte of token n-gram models on {documents} of the evaluation split of {corpus}, by order; models "
            "with interpolated modified Kneser-Ney smoothing, trained on {training_bytes} bytes of another split. The "
            "lowest of each order and size in bold. " + CANNOT,
            by=("corpus", "training_bytes"),
            files=_FILES,
            arranged=True,
        ),
        Print(
            "intrinsic",
            "Bits per byte of token n-gram models of order {order} by language, trained on {training_bytes} bytes of "
            "all languages of {corpus}. " + CANNOT,
            ("language", "size", "variant", "value", "documents", "bytes"),
            by=("corpus", "training_bytes", "order"),
            files=_FILES,
            folds_above=0,
            name="ngram-bits-languages",
            arranged=True,
        ),
    ),
)  # fmt: skip
NGRAM_DOCUMENTS = TidyTable(
    "ngram_documents",
    "a test document under a token n-gram model of one order and budget, by tokenizer",
    (
        VARIANT,
        SIZE,
        CORPUS,
        ORDER,
        TRAINING_BYTES,
        Column("document", pl.Int64, "position of the document in its source"),
        LANGUAGE,
        Column("bytes", pl.Int64, "bytes of the document's text", "bytes"),
        Column("bits", pl.Float64, "bits that the model needs for the document, including its end", "bits"),
        Column("tokens", pl.Int64, "tokens of the document, without its end", "tokens"),
        LOST,
    ),
    maker=ngram_documents_table,
    takes=("files.ngram_bits",),
    keys=("variant", "size", "corpus", "order", "training_bytes", "document"),
    command="tabulate",
)
