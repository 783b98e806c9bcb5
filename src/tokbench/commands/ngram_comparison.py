"""Two tokenizers by the bits of their token n-gram models, document by document."""

from collections.abc import Sequence
from typing import Any

from tokbench.commands.opened import one_of_several
from tokbench.commands.reading import Reading
from tokbench.commands.sides import Side, Sizes, size_label
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import HIGHEST_NGRAM_ORDER
from tokbench.intrinsic.ngram_bits import ngram_bits
from tokbench.pretraining.encoded import encoded
from tokbench.report.terminal import Line, Part
from tokbench.report.wording import counted
from tokbench.statistics.contrast import bits_per_byte
from tokbench.tokenizer import Tokenizer

BITS = "bits of the test documents, their ends included, under the n-gram model, over the bytes of their text"


def ngram_part(
    a: Side,
    b: Side,
    sizes: Sizes,
    where: str,
    documents: Sequence[Document],
    training: Sequence[Document] | None,
    reading: Reading,
) -> Part:
    """Bits per byte by models of every order, trained on half of the training text and on all of it.

    Args:
        a, b: the tokenizers.
        sizes: of each.
        where: what the documents are.
        documents: the test text; where ``training`` is None the first, the third and so on are trained on instead.
        training: the training text.
        reading: what files of other libraries do not say.

    Raises:
        TokbenchError: there is a single document, and nothing to train on; or a tokenizer loses some of the test text,
            and its bits are of another one.
    """
    if training is None:
        if len(documents) < 2:
            raise TokbenchError(f"--ngram-bits: {where} is one document; name a text to train on with --train")
        training, documents = documents[::2], documents[1::2]
    lines = []
    for pair in sizes:
        loaded = [one_of_several(one.folders[size], reading) for one, size in zip((a, b), pair, strict=True)]
        found = [_bits(tokenizer, training, documents) for tokenizer in loaded]
        of_document = [document["bytes"] for document in found[0]["documents"]]
        for of_a, of_b in zip(found[0]["models"], found[1]["models"], strict=True):
            if contrast := bits_per_byte(of_a["bits"], of_b["bits"], of_document):
                size = f"{size_label(*pair)}, order {of_a['order']}, {of_a['training_bytes']:,} bytes"
                what = f"bits per byte of {of_a['order']}-grams of tokens"
                lines.append(Line(size, contrast, "lowest", what, BITS, sizes=[pair]))
    lines.sort(key=lambda line: line.what)
    heading = (
        f"Bits per byte of token n-gram models of {counted(len(documents), 'document')}: {where}, trained on "
        f"{counted(len(training), 'other')}; intervals over documents"
    )
    return Part(heading, "real", "real", lines, ["  A rank that changes with the bytes trained on is no result."])


def _bits(tokenizer: Tokenizer, training: Sequence[Document], tested: Sequence[Document]) -> dict[str, Any]:
    lost = 0 if tokenizer.lossless else sum(tokenizer.bytes_lost(document.text) for document in tested)
    if lost:
        raise TokbenchError(f"--ngram-bits: {tokenizer.name} loses {lost:,} bytes of the text; leave --ngram-bits out")
    return ngram_bits(
        lambda documents: encoded(tokenizer, documents),
        tokenizer.entries,
        lambda: training,
        tested,
        order=HIGHEST_NGRAM_ORDER,
        ids=tokenizer.id_limit,
    )
