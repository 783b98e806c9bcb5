"""The limits of a source: which documents they let through is told by their tags and sizes alone, in order."""

from collections import Counter
from collections.abc import Callable, Iterable

from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError, listed


def is_limited(source: Source) -> bool:
    """Whether a source has limits."""
    return not (source.languages is source.max_bytes_per_language is source.max_documents is None)


class Limits:
    """What a source's limits let through; documents are asked for in the source's order.

    Attributes:
        ended: whether no more can come.
    """

    def __init__(self, source: Source) -> None:
        self.ended = False
        self._source = source
        self._taken = 0
        self._sizes = Counter[str]()
        self._last: str | None = None

    def admit(self, language: str, size: int) -> bool:
        """Whether the next document is let through: its tag, renamed already, and its bytes."""
        source = self._source
        self._last = None
        if self.ended or (source.languages is not None and language not in source.languages):
            return False
        if source.max_bytes_per_language is not None and self._sizes[language] >= source.max_bytes_per_language:
            self.ended = source.languages is not None and all(map(self._is_full, source.languages))
            return False
        if source.max_documents is not None and self._taken >= source.max_documents:
            self.ended = True
            return False
        self._sizes[language] += size
        self._taken += 1
        self._last = language
        return True

    def admit_piece(self, language: str | None, size: int) -> bool:
        """As :meth:`admit`, of pieces of documents: one that is no document's first, without a language, goes with the
        document before it."""
        if language is not None:
            return self.admit(language, size)
        if self._last is not None:
            self._sizes[self._last] += size
        return self._last is not None

    def _is_full(self, language: str) -> bool:
        return self._sizes[language] >= (self._source.max_bytes_per_language or 0)


def check_text(source: Source, documents: int, size: int, languages: Callable[[], Iterable[str]]) -> None:
    """Reject a source that has no text, or none in the languages that are asked for.

    Args:
        source: its limits.
        documents: how many documents the limits let through.
        size: bytes of them.
        languages: gives the language of every document of the source, renamed, whether let through or not.

    Raises:
        TokbenchError: there is no text; the message says why.
    """
    if size:
        return
    if documents:
        which = "the one document" if documents == 1 else f"each of the {documents:,} documents"
        raise TokbenchError(f"source: {which} is empty; name files with text")
    found = sorted(set(languages()))
    if not found:
        raise TokbenchError("source: there are no documents; name files with text")
    named = [language or "documents without a language" for language in found]
    raise TokbenchError(
        f"source.languages: no document has one of the languages {', '.join(source.languages or [])} "
        f"(found: {listed(named)}); name one of these, or leave the key out"
    )


def without_limits(source: Source) -> Source:
    """The source as its parts are read: all documents, with the tags that they carry."""
    plain = {name: field.get_default(call_default_factory=True) for name, field in Source.model_fields.items()}
    return source.model_copy(update=plain)


def language_of(source: Source, tag: str) -> str:
    """The language tag of a document that carries this one."""
    tag = tag or source.language
    return source.rename_languages.get(tag, tag)
