"""Bits per byte of token n-gram models: by language, and of each document."""

from collections.abc import Iterable
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.io.json import read_result
from tokbench.tabulation.columns import CANNOT, CORPUS, LANGUAGE, ORDER, SIZE, TRAINING_BYTES, VARIANT
from tokbench.tabulation.reading import AGAIN, require_key, to_frame
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]


def ngram_bits_table(ngram_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits per byte of every model, for the full test text and each language if there are several.

    Args:
        ngram_files: results of ``tokbench ngram_bits``, in any order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [to_frame([], NGRAM_BITS.schema, "")]
    for path in ngram_files:
        head, content = _read(path)
        documents = require_key(content, "documents", path, kind=list)
        training = {
            require_key(one, "training_bytes", path): one for one in require_key(content, "training", path, kind=list)
        }
        languages: dict[str, list[int]] = {"": list(range(len(documents)))}
        for number, document in enumerate(documents):
            languages.setdefault(require_key(document, "language", path), []).append(number)
        if len(languages) == 2:
            languages = {"": languages[""]}
        rows = []
        for model in require_key(content, "models", path, kind=list):
            budget, order, bits = (require_key(model, key, path) for key in ("training_bytes", "order", "bits"))
            counts = [
                require_key(content, "vocabulary", path),
                *(require_key(training[budget], key, path) for key in ("tokens", "unused_entries", "unseen_tokens")),
            ]
            for language, numbers in languages.items():
                size, lost = (
                    sum(documents[number].get(key, 0) for number in numbers) for key in ("bytes", "bytes_lost")
                )
                if size:
                    value = fsum(bits[number] for number in numbers) / size
                    rows.append((*head, language, order, budget, value, len(numbers), size, *counts, lost))
        frames.append(to_frame(rows, NGRAM_BITS.schema, path))
    return pl.concat(frames).sort("corpus", "language", "training_bytes", "order", "size", "variant")


def ngram_documents_table(ngram_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits of every document under every model; see :func:`ngram_bits_table`."""
    frames = [to_frame([], NGRAM_DOCUMENTS.schema, "")]
    for path in ngram_files:
        head, content = _read(path)
        documents = [
            (
                *(require_key(document, key, path) for key in ("document", "language", "bytes")),
                document.get("tokens"),
                document.get("bytes_lost", 0),
            )
            for document in require_key(content, "documents", path, kind=list)
        ]
        rows = [
            (*head, model["order"], model["training_bytes"], *document[:-2], bits, *document[-2:])
            for model in require_key(content, "models", path, kind=list)
            for document, bits in zip(documents, require_key(model, "bits", path, kind=list), strict=True)
        ]
        frames.append(to_frame(rows, NGRAM_DOCUMENTS.schema, path))
    return pl.concat(frames).sort("corpus", "training_bytes", "order", "size", "variant", "document")


def _read(path: Path | str) -> tuple[Row, Any]:
    content = read_result(path, AGAIN, lenient=True)
    return tuple(require_key(content, key, path) for key in ("variant", "size", "corpus")), content


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
