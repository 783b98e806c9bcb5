"""Measurement of a tokenizer on files: pre-token counts, texts, the metrics of their documents, and n-gram bits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import attrgetter, itemgetter
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.corpus.text_files import note_untagged, read_files, read_shards_or_files
from tokbench.errors import TokbenchError
from tokbench.intrinsic.documents import measure_texts
from tokbench.intrinsic.texts import measure_counted_text, measure_read_texts
from tokbench.intrinsic.tokenizer import ByLanguage
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.io.identity import TextDigest, made_from
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.external_count import count_texts
from tokbench.pretokens.files import all_languages, check_stage, read_languages
from tokbench.runtime.memory_limit import allowance
from tokbench.statistics.comparisons.sequence_lengths import normalised_lengths
from tokbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document
    from tokbench.options import Options

STAGE = "measure"
"""Name of the memory estimate."""
CROSSES = "tokens may cross pre-tokens, so counts do not suffice"


class FileMeasures(NamedTuple):
    """Measurements of a tokenizer on files.

    Attributes:
        rows: the measurements.
        text: digest of the text, see :class:`tokbench.io.identity.TextDigest`.
        loss: see :class:`tokbench.intrinsic.texts.TextMeasures`. Default: None.
    """

    rows: ByLanguage
    text: str
    loss: dict[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class MeasuredTokenizer:
    """A tokenizer, and how to measure it.

    Attributes:
        tokenizer: the tokenizer.
        path: its path, for messages.
        families: options by family of metrics; families without an entry have their defaults.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.
    """

    tokenizer: Tokenizer
    path: str
    families: "Mapping[str, Options]"
    megabytes: int | None = None

    def read_counts(self, file: str) -> dict[str, PretokenCounts]:
        """Return the pre-token counts of each language of a text.

        Raises:
            TokbenchError: they are of another pre-tokenization than the tokenizer's, or exceed the memory limit.
        """
        check_stage(STAGE, file, self.megabytes)
        by_language = read_languages(file)
        scheme_of_tokenizer = self.tokenizer.pretokenization
        if (scheme := all_languages(by_language).scheme) not in (None, scheme_of_tokenizer):
            raise TokbenchError(
                f"{file}: counted with '{scheme}', but {self.path} uses '{scheme_of_tokenizer}'; "
                f"count with --pretokenization {quote(scheme_of_tokenizer)}"
            )
        return by_language

    def read_reference(self, file: str | None) -> PretokenCounts | None:
        """Return the pre-token counts of a reference text; None if there is none, or the tokenizer cannot use it."""
        if file is None or self.tokenizer.segments_documents:
            return None
        return all_languages(self.read_counts(file))


def measure_counts_file(measured: MeasuredTokenizer, counts: str, reference: str | None = None) -> FileMeasures:
    """Measure a tokenizer on a file of pre-token counts.

    Args:
        measured: the tokenizer.
        counts: the file.
        reference: file of counts of the reference text, see ``words_of``. Default: None.

    Raises:
        TokbenchError: counts do not suffice for this tokenizer, are of another pre-tokenization, or exceed the limit.
    """
    tokenizer = measured.tokenizer
    if tokenizer.segments_documents:
        way = f"works through {tokenizer.library_name} and has no pre-tokens" if tokenizer.library_name else CROSSES
        raise TokbenchError(f"{measured.path}: {way}; pass --documents")
    if tokenizer.normalization:
        raise TokbenchError(
            f"{measured.path}: normalises texts, so counts of pre-tokens lack their bytes; pass --documents"
        )
    words = measured.read_reference(reference)
    by_language, text = measured.read_counts(counts), TextDigest()
    for part in by_language.values():
        text.add_counts(part.data, part.offsets, part.counts)
    rows, loss = measure_counted_text(tokenizer, by_language, families=measured.families, reference=words)
    return FileMeasures(rows, text.hexdigest(), loss)


def measure_text_files(
    measured: MeasuredTokenizer,
    files: Sequence[str],
    fields: Fields = AS_USUAL,
    *,
    reference: str | None = None,
    output: str = "-",
) -> FileMeasures:
    """Measure a tokenizer on the texts of files, with the metrics of texts and of languages.

    Args:
        measured: the tokenizer.
        files: the files.
        fields: options of reading. Default: those of the formats.
        reference: file of counts of the reference text, see ``words_of``. Default: None.
        output: path next to which counts are written if memory is limited. Default: the working directory.

    Raises:
        TokbenchError: a file is unreadable, or more memory is needed than allowed.
    """
    tokenizer, text = measured.tokenizer, TextDigest()
    words = measured.read_reference(reference)
    documents = note_untagged(read_files(files, fields))
    check = partial(check_stage, STAGE, megabytes=measured.megabytes)
    rows, loss = measure_read_texts(
        tokenizer,
        text.watched(((document.language, document.text) for document in documents), itemgetter(1)),
        families=measured.families,
        count=lambda texts: count_texts(texts, tokenizer.scheme, measured.megabytes, output, check),
        reference=words,
    )
    return FileMeasures(rows, text.hexdigest(), loss)


def measure_document_files(
    measured: MeasuredTokenizer,
    files: Sequence[str],
    fields: Fields = AS_USUAL,
    *,
    baseline: Tokenizer | None = None,
) -> FileMeasures:
    """Measure a tokenizer on the texts of files, with the metrics of documents.

    Args:
        measured: the tokenizer.
        files: the files; they are read several times.
        fields: options of reading. Default: those of the formats.
        baseline: tokenizer whose token counts divide those of this one. Default: None.

    Raises:
        TokbenchError: a file is unreadable.
    """
    text = TextDigest()

    def read() -> Iterator[tuple[str, bytes]]:
        documents = ((document.language, document.text) for document in read_files(files, fields))
        return text.watched(documents, itemgetter(1))

    rows = measure_texts(measured.tokenizer, read, families=measured.families)
    if baseline is not None:
        rows += _relative_lengths(measured.tokenizer, baseline, read)
    return FileMeasures(rows, text.hexdigest())


def _relative_lengths(
    tokenizer: Tokenizer, baseline: Tokenizer, read: Callable[[], Iterator[tuple[str, bytes]]]
) -> ByLanguage:
    """Return the token counts of documents relative to those of a baseline; copies of a document are one unit."""
    counts, divisor = ([counter.count(text) for _, text in read()] for counter in (tokenizer, baseline))
    number: dict[bytes, int] = {}
    units = [number.setdefault(sha256(text).digest(), len(number)) for _, text in read()]
    return [("", row) for row in normalised_lengths(counts, divisor, baseline.name, units)]


def measure_ngram_bits(
    tokenizer: Tokenizer,
    training: Sequence[str],
    test: Sequence[str],
    fields: Fields = AS_USUAL,
    *,
    variant: str | None = None,
    corpus: str = "",
    order: int,
    training_bytes: Sequence[int] | None = None,
    megabytes: int | None = None,
) -> dict[str, Any]:
    """Train token n-gram models on the texts of files, and test them on others.

    Args:
        tokenizer: the tokenizer.
        training: files to train on; they are read several times.
        test: files to test on.
        fields: options of reading. Default: those of the formats.
        variant: name in the tables. Default: that of the tokenizer.
        corpus: name of the corpus. Default: empty.
        order: highest order of the models.
        training_bytes: bytes of training text of each model. Default: all and half.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Returns:
        The items of :func:`tokbench.intrinsic.ngram_bits.tokenizer_ngram_bits`, and the digests of the tokenizer
        (``tokenizer``) and of both texts (``training_text``, ``text``).

    Raises:
        TokbenchError: a file is unreadable, or memory is too small for any text.
    """
    from tokbench.intrinsic.ngram_bits import tokenizer_ngram_bits
    from tokbench.models.pretraining.order import encode_documents

    texts = {"training_text": TextDigest(), "text": TextDigest()}

    def read(files: Sequence[str], role: str) -> "Iterator[Document]":
        return texts[role].watched(read_shards_or_files(files, fields), attrgetter("text"))

    bits = tokenizer_ngram_bits(
        tokenizer,
        partial(encode_documents, tokenizer),
        lambda: read(training, "training_text"),
        note_untagged(read(test, "text")),
        variant=variant,
        corpus=corpus,
        order=order,
        training_bytes=training_bytes,
        room=None if megabytes is None else allowance(megabytes).room,
    )
    return bits | made_from(tokenizer=tokenizer.digest, **{role: text.hexdigest() for role, text in texts.items()})
