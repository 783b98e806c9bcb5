"""A check of a tokenizer in every form in which it can be exported: written, read by the form's library, and tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tokbench.adapters.exports import FORMS, TOKENS, export
from tokbench.adapters.libraries import open_library, told
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.fitness.agreement import ids_of_file, is_plain, plain_texts, special_names
from tokbench.fitness.finding import Check, Example, Finding, not_applicable, of
from tokbench.fitness.probes import EVERY_PROBE, RUNS
from tokbench.fitness.shorten import shortest
from tokbench.fitness.subject import Subject
from tokbench.inputs.json import parse_json
from tokbench.pretokens import PretokenCounts
from tokbench.saved import EXPORTED
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary, read_tokens

LONGEST_RUN = 40
SOME = 7
"""Of numbers and of blocks of code points every so many are tried: here it is many libraries that take them."""
Theirs = Callable[[str], list[int] | None]
"""The ids of a text in another form; None of one that the form cannot say."""


@dataclass(frozen=True)
class Tried:
    """What came of a form.

    Attributes:
        texts: how many it was held against the tokenizer on.
        differ: on how many it gives other ids.
        example: the shortest input found on which it does; None where there is none.
    """

    texts: int
    differ: int = 0
    example: bytes | None = None


def exports(subject: Subject) -> Finding:
    """Every form that the tokenizer can be written in, except a ``tokenizer.json`` that lies beside it already.

    It can where the export writes it; what that rejects is told, as a library that is not installed is. What it writes
    must have the same ids on all texts.
    """
    tokenizer = subject.tokenizer
    if not isinstance(tokenizer, Tokenizer) or tokenizer.library_name:
        return not_applicable("it is none of ours, which are written for other libraries")
    beside = subject.folder is not None and (subject.folder / EXPORTED).is_file()
    texts = {text: subject.encode(text) for text in plain_texts(subject, SOME)}
    runs = [one.encode() * LONGEST_RUN for one in RUNS]
    given = [*runs, *EVERY_PROBE, *subject.documents, *tokenizer.vocabulary.tokens]
    pretokens = count_pretokens(given, tokenizer.pretokenization)
    tried: dict[str, Tried] = {}
    rejected: dict[str, str] = {}
    for form in FORMS:
        if form == "tokenizer_json" and beside:
            continue
        try:
            tried[form] = _tried(subject, tokenizer, form, texts, pretokens)
        except TokbenchError as error:
            rejected[form] = str(error)
    if not tried:
        return Finding(None, f"it can be written in no other form ({', '.join(rejected)})", numbers={"not": rejected})
    wrong = {form: one for form, one in tried.items() if one.example is not None}
    numbers = {"held": {form: one.texts for form, one in tried.items()}, "not": rejected}
    others = f"; it cannot be written as {', '.join(rejected)}" if rejected else ""
    if wrong:
        parts = [f"{form} gives other ids for {of(one.differ, one.texts, 'texts')}" for form, one in wrong.items()]
        examples = [Example(one.example, f"in {form}") for form, one in wrong.items() if one.example is not None]
        return Finding(False, ", ".join(parts) + others, examples, numbers)
    parts = [f"{form} ({one.texts:,} texts)" for form, one in tried.items()]
    return Finding(True, f"the same ids in {', '.join(parts)}{others}", numbers=numbers)


def _tried(
    subject: Subject, tokenizer: Tokenizer, form: str, texts: Mapping[bytes, list[int]], pretokens: PretokenCounts
) -> Tried:
    """A form on texts whose ids are known.

    Raises:
        TokbenchError: the tokenizer cannot be written in it.
    """
    with TemporaryDirectory() as folder:
        export(tokenizer, form, pretokens, Path(folder))
        theirs = READERS[form](Path(folder), tokenizer)
        with told(f"{form}: its library ends on a text"):
            found = {text: ids for text in texts if (ids := theirs(text.decode())) is not None}
            wrong = [text for text, ids in found.items() if ids != texts[text]]
        if not wrong:
            return Tried(len(found))
        export(tokenizer, form, None, Path(folder))  # On far more than it was written on, and that may reject it.
    special = special_names(subject)

    def differs(text: bytes) -> bool:
        return is_plain(text, special) and theirs(text.decode()) not in (None, subject.encode(text))

    return Tried(len(found), len(wrong), shortest(min(wrong, key=len), differs))


def _tokenizer_json(folder: Path, tokenizer: Tokenizer) -> Theirs:
    ids_of = ids_of_file(folder / EXPORTED)
    return lambda text: ids_of([text])[0]


def _tiktoken(folder: Path, tokenizer: Tokenizer) -> Theirs:
    from tokbench.adapters.forms.beside_ranks import RANKS, SETTINGS

    settings = parse_json((folder / SETTINGS).read_bytes(), SETTINGS)
    library = open_library("tiktoken", (folder / RANKS).read_bytes(), {"pattern": settings["pat_str"]}, RANKS)
    return lambda text: list(library.encode(text))


def _sentencepiece(folder: Path, tokenizer: Tokenizer) -> Theirs:
    """One pre-token at a time, as the model is to be used; it has no piece for some rare characters."""
    from tokbench.adapters.sentencepiece import MODEL, spelt

    library = open_library("sentencepiece", (folder / MODEL).read_bytes(), {}, MODEL)

    def ids(text: str) -> list[int] | None:
        if not all(map(spelt, text)):
            return None
        data = text.encode()
        pieces = [data[start:end] for start, end in pairwise(tokenizer.scheme.boundaries(data).tolist())]
        return [one for piece in pieces for one in library.encode(piece.decode())]

    return ids


def _tokens(folder: Path, tokenizer: Tokenizer) -> Theirs:
    """The list with the tokenizer's own phases; which of them needs more than a list is no form of it."""
    vocabulary = Vocabulary(read_tokens(folder / TOKENS))
    again = Tokenizer(vocabulary, tokenizer.scheme, tokenizer.segmentation, tokenizer.options)
    return lambda text: again.encode(text).tolist()


READERS: Mapping[str, Callable[[Path, Tokenizer], Theirs]] = {
    "tokenizer_json": _tokenizer_json,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
    "tokens": _tokens,
}
"""What reads each form."""

CHECKS = (Check("exports", "every form that it can be exported to gives the same ids", "failure", exports),)
