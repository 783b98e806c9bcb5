"""Gaps of two tokenizers to the lower bound on tokens, on the same documents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokbench.adapters.open import ImportOptions, one_of_several
from tokbench.corpus.documents import Document, note_of_untagged
from tokbench.corpus.languages import tag_of_untagged
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer
from tokbench.inspection.comparison.sides import Sizes, distinct, size_label
from tokbench.report.wording import format_value, join_all

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts

NEAR = 0.001
STEPS = 2000
"""Limits of the search for a bound: relative gap, and number of steps."""


def gap_notes(
    a: NamedTokenizer, b: NamedTokenizer, sizes: Sizes, documents: Sequence[Document], reading: ImportOptions
) -> list[str]:
    """Return notes on the gap to the lower bound at every size, for the complete text and for each language."""
    from tokbench.optimum import MAX_PRETOKEN_BYTES
    from tokbench.optimum.bound import bound_or_reason
    from tokbench.optimum.gap import LowerBound, gap_of

    # The complete text and that of each language.
    untagged = tag_of_untagged({document.language for document in documents})
    lacking = sum(not document.language for document in documents) if untagged else 0
    documents = [document._replace(language=document.language or untagged) for document in documents]
    texts = {"": documents}
    languages = sorted({document.language for document in documents})
    if len(languages) > 1:
        texts |= {bound: [document for document in documents if document.language == bound] for bound in languages}
    # A bound for each pre-tokenization, language and size.
    bounds: dict[tuple[str, str, int], LowerBound | None] = {}
    counted: dict[str, dict[str, PretokenCounts]] = {}
    notes = [f"  {note_of_untagged(lacking)}."] if lacking else []
    for pair in sizes:
        loaded = [one_of_several(side.folders[size], reading) for side, size in zip((a, b), pair, strict=True)]
        for language, text in texts.items():
            sentences = []
            for name, tokenizer, size in zip(distinct(a, b), loaded, pair, strict=True):
                size = size or tokenizer.nominal_size
                key = ("" if tokenizer.segments_documents else tokenizer.pretokenization, language, size)
                scheme = key[0]
                if scheme and scheme not in counted:
                    counted[scheme] = _counts_by_language(documents, scheme)
                if scheme and key not in bounds:
                    result = bound_or_reason(counted[scheme][language], size, gap=NEAR, steps=STEPS)
                    bounds[key] = None if result["bound"] is None else LowerBound.from_result(result)
                tokens = sum(tokenizer.count(document.text) for document in text)
                gap = gap_of(tokens, size, tokenizer, bounds.get(key))
                said = gap.reason if gap.value is None else f"{format_value(gap.value, 'percent', 2)} % above {gap.n:,}"
                sentences.append(f"{name} none ({said})" if gap.value is None else f"{name} {said} ({scheme})")
            where = ", ".join(filter(None, (size_label(*pair), language)))
            notes.append(f"  gap, {where}: {join_all(sentences)}.")
    # What the gaps exclude, and which cannot be compared.
    if long := sum(
        sum(bound.left_out.values()) for (_, language, _), bound in bounds.items() if bound and not language
    ):
        notes.append(f"  Gaps exclude pre-tokens of more than {MAX_PRETOKEN_BYTES} bytes: {long:,} occurrences.")
    if len({scheme for scheme, *_ in bounds}) > 1:
        notes.append("  Gaps under different pre-tokenizations are not comparable.")
    return [*notes, "  gap: tokens above the proven minimum of any vocabulary of this size for the same pre-tokens."]


def _counts_by_language(documents: Sequence[Document], scheme: str) -> "dict[str, PretokenCounts]":
    """Count the pre-tokens of each language; the empty name has those of all."""
    from tokbench.pretokens.count import count_languages, merge_counts

    parts = count_languages(((document.language, document.text) for document in documents), scheme)
    return parts | {"": merge_counts(list(parts.values()))}
