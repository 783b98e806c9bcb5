"""Consistency checks: repeated calls, batches, threads, split texts and exported forms must return the same ids.

Each exported form is written, read by its library and compared. The cold encoding speed is reported without a verdict.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tokbench.adapters.export_hugging_face import BY_WORDPIECE
from tokbench.adapters.exports import FORMS, TOKENS, export
from tokbench.errors import TokbenchError
from tokbench.inspection.checks.finding import Check, Example, Finding, not_applicable, of, shortest
from tokbench.inspection.checks.probes import EVERY_PROBE, RUNS, blocks, numbers
from tokbench.inspection.checks.subject import EncodeError, TokenizerUnderTest
from tokbench.intrinsic.encoding_speed import LEAST_BYTES, TOO_SHORT, Sample, cold_speed
from tokbench.io.json import parse_json
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.folder import EXPORTED
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING
from tokbench.tokenizer.libraries import library_errors, open_library
from tokbench.vocabulary import Vocabulary, read_tokens

PARTED = 3 << 20
"""Minimum size in bytes of a text that is split among threads."""
THREADS = 3
LONG = 300
"""Maximum pre-token size in bytes for WordPiece of ``tokenizers``, which needs cubic time."""


def _agreeing(texts: Sequence[bytes], differs: Callable[[bytes], bool], sentence: str) -> Finding:
    wrong = [text for text in texts if differs(text)]
    if not wrong:
        return Finding(True, f"{sentence}, for all {len(texts):,} texts", numbers={"texts": len(texts)})
    short = shortest(min(wrong, key=len), differs)
    numbers = {"texts": len(texts), "differ": len(wrong)}
    return Finding(False, f"{sentence}, but not for {of(len(wrong), len(texts), 'texts')}", [Example(short)], numbers)


def repeated(subject: TokenizerUnderTest) -> Finding:
    """Check that encoding a text twice returns the same ids."""
    texts = subject.taken
    first = {text: subject.encode(text) for text in texts}
    return _agreeing(
        texts,
        lambda text: first.get(text, subject.encode(text)) != subject.encode(text),
        "repeated calls return the same ids",
    )


def batched(subject: TokenizerUnderTest) -> Finding:
    """Compare ``encode_batch`` of many texts, and of one, with ``encode``."""
    texts = subject.taken
    try:
        together = dict(zip(texts, subject.batch(texts), strict=True))
    except (EncodeError, ValueError) as error:
        return Finding(False, f"encode_batch does not return one list of ids per text: {error}", [Example(texts[0])])

    def differs(text: bytes) -> bool:
        return together.get(text, subject.batch([text])[0]) != subject.encode(text)

    return _agreeing(texts, differs, "encode_batch returns the ids of encode")


def counted(subject: TokenizerUnderTest) -> Finding:
    """Compare ``count`` with the number of ids."""
    texts = subject.taken
    return _agreeing(texts, lambda text: subject.count(text) != len(subject.encode(text)), "count is the number of ids")


def threaded(subject: TokenizerUnderTest) -> Finding:
    """Compare the ids of one long text, and of many texts, with one thread and with several."""
    texts = subject.taken
    long, last_cut = b" ".join(texts), subject.traits.last_cut
    if last_cut is None or last_cut(long):  # Otherwise threads share only complete texts.
        long *= PARTED // max(1, sum(map(len, texts))) + 1
    try:
        ids = subject.encode(long)
        together = subject.tokenizer.encode(long, threads=THREADS).tolist()
        same = ids == together and subject.count(long, threads=THREADS) == len(ids)
        same = same and subject.batch(texts, threads=THREADS) == subject.batch(texts)
    except (TypeError, EncodeError, AttributeError):
        return not_applicable("encode has no parameter threads")
    sentence = f"{THREADS} threads, {len(long):,} bytes and {len(texts):,} texts"
    if same:
        return Finding(
            True, f"{sentence}: the same ids as with one thread", numbers={"bytes": len(long), "texts": len(texts)}
        )
    return Finding(
        False,
        f"{sentence}: other ids than with one thread",
        [Example(long[:80], f"the first 80 of {len(long):,} bytes")],
    )


def in_pieces(subject: TokenizerUnderTest) -> Finding:
    """Split texts where ``last_cut`` allows it; compare the joined ids of both parts with those of the text."""
    last_cut = subject.traits.last_cut
    if last_cut is None:
        return not_applicable("it does not define last_cut")

    def differs(text: bytes) -> bool:
        cut = last_cut(text)
        return cut > 0 and subject.encode(text[:cut]) + subject.encode(text[cut:]) != subject.encode(text)

    return _agreeing(subject.taken, differs, "the joined ids of two parts are those of the text")


def exported(subject: TokenizerUnderTest) -> Finding:
    """Compare with the ``tokenizer.json`` in the tokenizer's folder, read by ``tokenizers``."""
    path = None if subject.folder is None else subject.folder / EXPORTED
    if path is None or not path.is_file():
        return not_applicable(f"its folder has no {EXPORTED}")
    texts = plain_texts(subject)
    special = special_names(subject)
    theirs = ids_of_file(path)
    shown = dict(zip(texts, theirs([text.decode() for text in texts]), strict=True))

    def differs(text: bytes) -> bool:
        if not is_plain(text, special):
            return False
        ids = shown[text] if text in shown else theirs([text.decode()])[0]
        return ids != subject.encode(text)

    return _agreeing(texts, differs, f"{EXPORTED} returns the same ids")


def ids_of_file(path: Path) -> Callable[[list[str]], list[list[int]]]:
    """Return a function that encodes texts with a ``tokenizer.json``."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(path))
    opened.no_padding()
    opened.no_truncation()
    return lambda texts: [encoding.ids for encoding in opened.encode_batch_fast(texts, add_special_tokens=False)]


def special_names(subject: TokenizerUnderTest) -> set[str]:
    """Return strings that other libraries may encode as special tokens."""
    return {END_OF_TEXT, PADDING, *subject.traits.special}


def plain_texts(subject: TokenizerUnderTest, some: int = 1) -> list[bytes]:
    """List texts for other libraries: probes, documents, tokens, numbers and every code point.

    Args:
        subject: the tokenizer.
        some: step through the numbers and the blocks of code points. Default: 1 (all).
    """
    special, boundaries = special_names(subject), subject.traits.boundaries
    ordered = islice(numbers(), 0, None, some), islice(blocks(), 0, None, some)
    texts = [text for text in chain(subject.taken, *ordered, subject.tokens.values()) if is_plain(text, special)]
    if boundaries is None or subject.traits.segmentation not in BY_WORDPIECE:
        return texts
    return [text for text in texts if np.diff(boundaries(text)).max(initial=0) <= LONG]


def is_plain(text: bytes, special: set[str]) -> bool:
    """Return True if a text is valid UTF-8 and contains none of these special tokens."""
    try:
        decoded = text.decode()
        return not any(name in decoded for name in special if name)
    except UnicodeDecodeError:
        return False


CHECKS = (
    Check("repeatable", "a text always has the same ids", "failure", repeated, "C8"),
    Check("batch", "encode_batch returns the ids of encode", "failure", batched, "C8"),
    Check("count", "count is the number of ids", "failure", counted),
    Check("threads", "threads do not change the ids", "failure", threaded),
    Check("pieces", "a text may be split where the tokenizer allows it", "failure", in_pieces),
    Check("exported", f"{EXPORTED} returns the same ids", "failure", exported),
)


LONGEST_RUN = 40
SAMPLE_STEP = 7
"""Step through numbers and blocks of code points, to limit the time of several libraries."""
Theirs = Callable[[list[str]], Sequence[list[int] | None]]
"""Function that encodes texts with an exported form; returns None for a text that the form cannot represent."""


@dataclass(frozen=True)
class Tried:
    """Comparison of an exported form with the tokenizer.

    Attributes:
        texts: number of texts compared.
        differ: number of texts with other ids. Default: 0.
        example: shortest such input found. Default: None.
    """

    texts: int
    differ: int = 0
    example: bytes | None = None


def exports(subject: TokenizerUnderTest) -> Finding:
    """Export the tokenizer in every form and compare the ids on all texts.

    Skips ``tokenizer.json`` if the folder already has one. Forms that cannot be written, or whose library is not
    installed, are listed in the finding.
    """
    tokenizer = subject.tokenizer
    if not isinstance(tokenizer, Tokenizer) or tokenizer.library_name:
        return not_applicable("it is not a native Tokbench tokenizer")
    beside = subject.folder is not None and (subject.folder / EXPORTED).is_file()
    # Texts and pre-tokens to compare ids on.
    plain = plain_texts(subject, SAMPLE_STEP)
    texts = dict(zip(plain, subject.batch(plain), strict=True))
    runs = [outcome.encode() * LONGEST_RUN for outcome in RUNS]
    given = [*runs, *EVERY_PROBE, *subject.documents, *tokenizer.vocabulary.tokens]
    pretokens = count_pretokens(given, tokenizer.pretokenization)
    characters = {*b"".join((*texts, b"\n", pretokens.data.tobytes())).decode(errors="ignore")}
    # Each form is exported and encodes the texts with its library.
    tried: dict[str, Tried] = {}
    rejected: dict[str, str] = {}
    for form in FORMS:
        if form == "tokenizer_json" and beside:
            continue
        try:
            tried[form] = _tried(subject, tokenizer, form, texts, pretokens, characters)
        except TokbenchError as error:
            rejected[form] = str(error)
    if not tried:
        return Finding(None, f"it cannot be exported ({', '.join(rejected)})", numbers={"not": rejected})
    # Finding: forms with other ids, forms with the same ids, and forms that cannot express it.
    wrong = {form: outcome for form, outcome in tried.items() if outcome.example is not None}
    numbers = {"held": {form: outcome.texts for form, outcome in tried.items()}, "not": rejected}
    others = f"; it cannot be exported as {', '.join(rejected)}" if rejected else ""
    if wrong:
        parts = [
            f"{form} returns other ids for {of(outcome.differ, outcome.texts, 'texts')}"
            for form, outcome in wrong.items()
        ]
        examples = [
            Example(outcome.example, f"in {form}") for form, outcome in wrong.items() if outcome.example is not None
        ]
        return Finding(False, ", ".join(parts) + others, examples, numbers)
    parts = [f"{form} ({outcome.texts:,} texts)" for form, outcome in tried.items()]
    return Finding(True, f"the same ids in {', '.join(parts)}{others}", numbers=numbers)


def _tried(
    subject: TokenizerUnderTest,
    tokenizer: Tokenizer,
    form: str,
    texts: Mapping[bytes, list[int]],
    pretokens: PretokenCounts,
    characters: Collection[str],
) -> Tried:
    """Export a form and compare its ids with the known ids of texts, all of whose characters it has to support.

    Raises:
        TokbenchError: the tokenizer cannot be exported in this form.
    """
    with TemporaryDirectory() as folder:
        export(tokenizer, form, pretokens, Path(folder), characters)
        theirs = READERS[form](Path(folder), tokenizer)
        with library_errors(f"{form}: its library fails on a text"):
            every = zip(texts, theirs([text.decode() for text in texts]), strict=True)
            encoded = {text: ids for text, ids in every if ids is not None}
            wrong = [text for text, ids in encoded.items() if ids != texts[text]]
        if not wrong:
            return Tried(len(encoded))
        export(tokenizer, form, None, Path(folder))  # Compares far more texts, and may reject it.
    special = special_names(subject)

    def differs(text: bytes) -> bool:
        return is_plain(text, special) and theirs([text.decode()])[0] not in (None, subject.encode(text))

    return Tried(len(encoded), len(wrong), shortest(min(wrong, key=len), differs))


def _tokenizer_json(folder: Path, tokenizer: Tokenizer) -> Theirs:
    return ids_of_file(folder / EXPORTED)


def _tiktoken(folder: Path, tokenizer: Tokenizer) -> Theirs:
    from tokbench.adapters.forms.ranks import RANKS, SETTINGS

    settings = parse_json((folder / SETTINGS).read_bytes(), SETTINGS)
    library = open_library("tiktoken", (folder / RANKS).read_bytes(), {"pattern": settings["pat_str"]}, RANKS)
    return lambda texts: [list(library.encode(text)) for text in texts]


def _sentencepiece(folder: Path, tokenizer: Tokenizer) -> Theirs:
    """Encode pre-token by pre-token, as documented; the model has no piece for some rare characters."""
    from sentencepiece import SentencePieceProcessor

    from tokbench.adapters.export_sentencepiece import MODEL, spelt

    library = SentencePieceProcessor(model_proto=(folder / MODEL).read_bytes())

    def pretokens(text: str) -> list[str] | None:
        if not all(map(spelt, text)):
            return None
        data = text.encode()
        return [data[start:end].decode() for start, end in pairwise(tokenizer.scheme.boundaries(data).tolist())]

    def theirs(texts: list[str]) -> list[list[int] | None]:
        cut = [*map(pretokens, texts)]
        every = list(chain.from_iterable(pieces for pieces in cut if pieces))
        ids = iter(library.encode(every, out_type=int) if every else [])
        return [None if pieces is None else list(chain.from_iterable(islice(ids, len(pieces)))) for pieces in cut]

    return theirs


def _tokens(folder: Path, tokenizer: Tokenizer) -> Theirs:
    """Rebuild the tokenizer from the token list, with the same pre-tokenization and segmentation."""
    vocabulary = Vocabulary(read_tokens(folder / TOKENS))
    again = Tokenizer(vocabulary, tokenizer.scheme, tokenizer.segmentation, tokenizer.options)
    return lambda texts: [ids.tolist() for ids in again.encode_batch(texts)]


READERS: Mapping[str, Callable[[Path, Tokenizer], Theirs]] = {
    "tokenizer_json": _tokenizer_json,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
    "tokens": _tokens,
}
"""Reader of each form."""

EXPORTS_CHECKS = (Check("exports", "every exported form returns the same ids", "failure", exports),)


def speed(subject: TokenizerUnderTest) -> Finding:
    """Measure the cold encoding speed on the documents, or on Python's documentation if they are too short."""
    texts, what = Sample(subject.documents).texts, "the documents"
    if sum(map(len, texts)) < LEAST_BYTES:
        from pydoc_data.topics import topics

        texts, what = Sample(topics[name].encode() for name in sorted(topics)).texts, "Python's documentation"
    try:
        cold = cold_speed(subject.tokenizer, texts)
    except Exception as error:
        if may_be_short(error):
            raise
        return not_applicable(str(EncodeError(error)))
    if cold is None:
        return not_applicable(TOO_SHORT)
    sentence = (
        f"{cold.megabytes_per_second:,.1f} MB/s cold: first pass of a fresh tokenizer over {what} "
        f"({cold.bytes:,} bytes), one thread's processor time, median of {cold.rounds} rounds"
    )
    numbers = {"bytes_per_second": cold.bytes / cold.seconds, "bytes": cold.bytes, "rounds": cold.rounds}
    return Finding(True, sentence, numbers=numbers)


SPEED_CHECKS = (Check("speed", "encoding speed on new text (cold cache)", "told", speed),)
