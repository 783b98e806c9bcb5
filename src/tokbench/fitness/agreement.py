"""Checks that a tokenizer agrees with itself: again, in a batch, in threads, in pieces, and in its exported forms."""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from tokbench.adapters.tokenizer_json import BY_WORDPIECE
from tokbench.fitness.finding import Check, Example, Finding, not_applicable, of
from tokbench.fitness.probes import blocks, numbers
from tokbench.fitness.shorten import shortest
from tokbench.fitness.subject import Rejection, Subject
from tokbench.saved import EXPORTED
from tokbench.tokenizer_config import END_OF_TEXT, PADDING

PARTED = 3 << 20
"""Bytes of a text that threads share out."""
THREADS = 3
LONG = 300
"""Bytes of the longest pre-token that WordPiece of ``tokenizers`` is given: its time grows with the length's cube."""


def _agreeing(texts: Sequence[bytes], differs: Callable[[bytes], bool], told: str) -> Finding:
    wrong = [text for text in texts if differs(text)]
    if not wrong:
        return Finding(True, f"{told} for all {len(texts):,} texts", numbers={"texts": len(texts)})
    short = shortest(min(wrong, key=len), differs)
    numbers = {"texts": len(texts), "differ": len(wrong)}
    return Finding(False, f"not {told} for {of(len(wrong), len(texts), 'texts')}", [Example(short)], numbers)


def repeated(subject: Subject) -> Finding:
    """The same ids whenever a text is encoded."""
    texts = subject.taken
    first = {text: subject.encode(text) for text in texts}
    return _agreeing(
        texts, lambda text: first.get(text, subject.encode(text)) != subject.encode(text), "the same ids again"
    )


def batched(subject: Subject) -> Finding:
    """``encode_batch`` of many texts, and of one."""
    texts = subject.taken
    try:
        together = dict(zip(texts, subject.batch(texts), strict=True))
    except (Rejection, ValueError) as error:
        return Finding(False, f"encode_batch gives no list of ids a text: {error}", [Example(texts[0])])

    def differs(text: bytes) -> bool:
        return together.get(text, subject.batch([text])[0]) != subject.encode(text)

    return _agreeing(texts, differs, "the ids of encode_batch are those of encode")


def counted(subject: Subject) -> Finding:
    """``count`` beside the number of ids."""
    texts = subject.taken
    return _agreeing(texts, lambda text: subject.count(text) != len(subject.encode(text)), "count is the number of ids")


def threaded(subject: Subject) -> Finding:
    """One long text, and many, in several threads."""
    texts = subject.taken
    long, last_cut = b" ".join(texts), subject.traits.last_cut
    if last_cut is None or last_cut(long):  # Else threads share out whole texts alone.
        long *= PARTED // max(1, sum(map(len, texts))) + 1
    try:
        ids = subject.encode(long)
        together = subject.tokenizer.encode(long, threads=THREADS).tolist()
        same = ids == together and subject.count(long, threads=THREADS) == len(ids)
        same = same and subject.batch(texts, threads=THREADS) == subject.batch(texts)
    except (TypeError, Rejection, AttributeError):
        return not_applicable("it takes no number of threads")
    told = f"with {THREADS} threads the ids of {len(long):,} bytes and of {len(texts):,} texts are"
    if same:
        return Finding(True, f"{told} those of one", numbers={"bytes": len(long), "texts": len(texts)})
    return Finding(False, f"{told} not those of one", [Example(long[:80], f"the first 80 of {len(long):,} bytes")])


def in_pieces(subject: Subject) -> Finding:
    """A text cut where ``last_cut`` tells, the ids of its two parts joined."""
    last_cut = subject.traits.last_cut
    if last_cut is None:
        return not_applicable("it does not tell where a text may be cut")

    def differs(text: bytes) -> bool:
        cut = last_cut(text)
        return cut > 0 and subject.encode(text[:cut]) + subject.encode(text[cut:]) != subject.encode(text)

    return _agreeing(subject.taken, differs, "the ids of two parts are those of the whole")


def exported(subject: Subject) -> Finding:
    """``tokenizer.json`` beside the tokenizer, read by its own library."""
    path = None if subject.folder is None else subject.folder / EXPORTED
    if path is None or not path.is_file():
        return not_applicable(f"no {EXPORTED} lies beside it")
    texts = plain_texts(subject)
    special = special_names(subject)
    theirs = ids_of_file(path)
    shown = dict(zip(texts, theirs([text.decode() for text in texts]), strict=True))

    def differs(text: bytes) -> bool:
        if not is_plain(text, special):
            return False
        ids = shown[text] if text in shown else theirs([text.decode()])[0]
        return ids != subject.encode(text)

    return _agreeing(texts, differs, f"the ids of {EXPORTED} are the same")


def ids_of_file(path: Path) -> Callable[[list[str]], list[list[int]]]:
    """What gives the ids of texts by a ``tokenizer.json``."""
    from tokenizers import Tokenizer

    opened = Tokenizer.from_file(str(path))
    opened.no_padding()
    opened.no_truncation()
    return lambda texts: [encoding.ids for encoding in opened.encode_batch(texts, add_special_tokens=False)]


def special_names(subject: Subject) -> set[str]:
    """What other libraries may find in a text and take for a special token."""
    return {END_OF_TEXT, PADDING, *subject.traits.special}


def plain_texts(subject: Subject, some: int = 1) -> list[bytes]:
    """Texts that can be given to other libraries: probes, documents, tokens, numbers, and every code point.

    Args:
        subject: the tokenizer.
        some: of numbers and of the blocks of code points every so many.
    """
    special, boundaries = special_names(subject), subject.traits.boundaries
    ordered = islice(numbers(), 0, None, some), islice(blocks(), 0, None, some)
    texts = [text for text in chain(subject.taken, *ordered, subject.tokens.values()) if is_plain(text, special)]
    if boundaries is None or subject.traits.segmentation not in BY_WORDPIECE:
        return texts
    return [text for text in texts if np.diff(boundaries(text)).max(initial=0) <= LONG]


def is_plain(text: bytes, special: set[str]) -> bool:
    """Whether the other library can be given a text, and has no special token to find in it."""
    try:
        return not any(name in text.decode() for name in special if name)
    except UnicodeDecodeError:
        return False


CHECKS = (
    Check("repeatable", "a text gives the same ids whenever it is encoded", "failure", repeated, "C8"),
    Check("batch", "encode_batch gives what encode gives", "failure", batched, "C8"),
    Check("count", "count is the number of ids", "failure", counted),
    Check("threads", "threads do not change the ids", "failure", threaded),
    Check("pieces", "a text may be cut where the tokenizer says so", "failure", in_pieces),
    Check("exported", f"{EXPORTED} gives the same ids", "failure", exported),
)
