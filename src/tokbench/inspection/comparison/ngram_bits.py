"""Comparison of two tokenizers by bits per byte of token n-gram models, on the same documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokbench.adapters.open import ImportOptions, one_of_several
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer
from tokbench.inspection.comparison.sides import Sizes, distinct, size_label
from tokbench.inspection.comparison.terminal import Line, LineGroup
from tokbench.inspection.comparison.texts import family_rows
from tokbench.report.wording import pluralise
from tokbench.statistics.comparisons.families import NGRAM, over_documents
from tokbench.tokenizer import Tokenizer

BITS = "bits of the test documents under the n-gram model, end-of-text tokens included, divided by their bytes"


def ngram_part(
    a: NamedTokenizer,
    b: NamedTokenizer,
    sizes: Sizes,
    where: str,
    documents: Sequence[Document],
    training: Sequence[Document] | None,
    reading: ImportOptions,
) -> LineGroup:
    """Compare bits per byte under n-gram models of every order, trained on half of the training text and on all of it.

    Args:
        a, b: the tokenizers.
        sizes: pairs of sizes to compare.
        where: description of the documents.
        documents: the test text. If ``training`` is None, the first, third and so on are training text instead.
        training: the training text, or None.
        reading: options for reading external tokenizer files.

    Raises:
        TokbenchError: there is only one document and no training text, or a tokenizer does not restore the test text.
    """
    # Without training text, every other document is.
    if training is None:
        if len(documents) < 2:
            raise TokbenchError(f"--ngram-bits: {where} is one document; name a text to train on with --train")
        training, documents = documents[::2], documents[1::2]
    names = distinct(a, b)
    lines = []
    for pair in sizes:
        loaded = [one_of_several(side.folders[size], reading) for side, size in zip((a, b), pair, strict=True)]
        # A comparison for each order and amount of training text.
        measured = [_bits(tokenizer, training, documents) for tokenizer in loaded]
        of_document = np.array([document["bytes"] for document in measured[0]["documents"]], np.float64)
        for models in zip(measured[0]["models"], measured[1]["models"], strict=True):
            order, budget = models[0]["order"], models[0]["training_bytes"]
            bits = {name: np.array(side["bits"], np.float64) for name, side in zip(names, models, strict=True)}
            family = over_documents((None, None, NGRAM, None, None, BITS), bits, of_document, "documents")
            label = f"{size_label(*pair)}, order {order}, {budget:,} bytes"
            lines += [
                Line(label, row, "lowest", f"bits per byte of token {order}-grams")
                for row in family_rows(family, names, loaded)
                if row["b"] == names[0]
            ]
    lines.sort(key=lambda line: line.what)
    heading = (
        f"Bits per byte of token n-gram models of {pluralise(len(documents), 'document')}: {where}, trained on "
        f"{pluralise(len(training), 'other document')}"
    )
    return LineGroup(
        heading, "real", "real", lines, ["  Ignore a ranking that changes with the amount of training text."]
    )


def _bits(tokenizer: Tokenizer, training: Sequence[Document], tested: Sequence[Document]) -> dict[str, Any]:
    from tokbench.intrinsic.ngram_bits import ngram_bits
    from tokbench.io.numbers import HIGHEST_NGRAM_ORDER
    from tokbench.models.pretraining.order import encode_documents

    lost = 0 if tokenizer.lossless else sum(tokenizer.bytes_lost(document.text) for document in tested)
    if lost:
        raise TokbenchError(f"--ngram-bits: {tokenizer.name} loses {lost:,} bytes of the text; leave --ngram-bits out")
    return ngram_bits(
        lambda documents: encode_documents(tokenizer, documents),
        tokenizer.entries,
        lambda: training,
        tested,
        order=HIGHEST_NGRAM_ORDER,
        ids=tokenizer.id_limit,
    )
