"""Limits of a source: numbers of documents and bytes, languages and their names.

Limits depend only on the tags and sizes of documents, in order.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable

from tokbench.corpus.long_documents import GOES_ON, Text, Texts
from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError, listed


def is_limited(source: Source) -> bool:
    """Return whether a source has limits."""
    return not (source.languages is source.max_bytes_per_language is source.max_documents is None)


class Limits:
    """State of a source's limits. Documents must be passed in the source's order.

    Attributes:
        exhausted: whether no further document can be admitted.
    """

    def __init__(self, source: Source) -> None:
        self.exhausted = False
        self._source = source
        self._documents = 0
        self._sizes = Counter[str]()
        self._last: str | None = None

    def admit(self, language: str, size: int) -> bool:
        """Return whether the next document is admitted, from its renamed tag and its size in bytes."""
        source = self._source
        self._last = None
        if self.exhausted or (source.languages is not None and language not in source.languages):
            return False
        if source.max_bytes_per_language is not None and self._sizes[language] >= source.max_bytes_per_language:
            self.exhausted = source.languages is not None and all(map(self._is_full, source.languages))
            return False
        if source.max_documents is not None and self._documents >= source.max_documents:
            self.exhausted = True
            return False
        self._sizes[language] += size
        self._documents += 1
        self._last = language
        return True

    def admit_piece(self, language: str | None, size: int) -> bool:
        """Return whether the next document or piece is admitted; a piece without a language belongs to the previous
        document."""
        if language is not None:
            return self.admit(language, size)
        if self._last is not None:
            self._sizes[self._last] += size
        return self._last is not None

    def _is_full(self, language: str) -> bool:
        return self._sizes[language] >= (self._source.max_bytes_per_language or 0)


def check_text(
    source: Source, documents: int, size: int, languages: Callable[[], Iterable[str]], key: str = "source"
) -> None:
    """Reject a source that has no text, or no text in the configured languages.

    Args:
        source: the source, for its limits.
        documents: number of documents within the limits.
        size: their bytes.
        languages: function that returns the renamed language of every document of the source, within the limits or not.
        key: key of the source, for the message (default: ``source``).

    Raises:
        TokbenchError: there is no text; the message gives the reason.
    """
    if size:
        return
    if documents:
        subject = "the one document" if documents == 1 else f"each of the {documents:,} documents"
        raise TokbenchError(f"{key}: {subject} is empty; name files with text")
    tags = sorted(set(languages()))
    if not tags:
        raise TokbenchError(f"{key}: there are no documents; name files with text")
    labels = [language or "documents without a language" for language in tags]
    raise TokbenchError(
        f"{key}.languages: no document has one of the languages {', '.join(source.languages or [])} "
        f"(found: {listed(labels)}); name one of these, or leave the key out"
    )


def without_limits(source: Source) -> Source:
    """Return a source without limits and renamed tags, as its parts are read."""
    plain = {name: field.get_default(call_default_factory=True) for name, field in Source.model_fields.items()}
    return source.model_copy(update=plain)


def language_of(source: Source, tag: str) -> str:
    """Return the language of a document with this tag, after defaults and renaming."""
    tag = tag or source.language
    return source.rename_languages.get(tag, tag)


def within_limits(source: Source, texts: Iterable[Text]) -> Texts:
    """Yield the texts within a source's limits, with renamed tags; stop as soon as no more can follow."""
    if not is_limited(source) and not source.rename_languages:
        return iter(texts)
    end: Text = ("", b"")
    limits = Limits(source)

    def admit(text: Text) -> Text | None:
        if text[0] is GOES_ON:
            return text if limits.admit_piece(GOES_ON, len(text[1])) else None
        language = source.rename_languages.get(text[0], text[0])
        if limits.admit(language, len(text[1])):
            return language, text[1]
        return end if limits.exhausted else None

    return filter(None, itertools.takewhile(lambda text: text is not end, map(admit, texts)))
