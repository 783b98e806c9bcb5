"""How far each of two tokenizers is from the fewest tokens that any vocabulary of its size needs for the same text."""

from collections.abc import Sequence

from tokbench.commands.opened import one_of_several
from tokbench.commands.reading import Reading
from tokbench.commands.sides import Side, Sizes, distinct, size_label
from tokbench.corpus.documents import Document
from tokbench.corpus.untagged import note_of_untagged
from tokbench.counting.count import count_languages, merge_counts
from tokbench.languages import tag_of_untagged
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.bounding import bounded_or_why
from tokbench.pretokens import PretokenCounts
from tokbench.report.numbers import printed
from tokbench.report.wording import listed
from tokbench.tabulation.gap import Bound, bound_of, gap_of

NEAR = 0.001
STEPS = 2000
"""The search for a bound ends within :data:`NEAR`, or after so many steps."""


def gap_notes(a: Side, b: Side, sizes: Sizes, documents: Sequence[Document], reading: Reading) -> list[str]:
    """Lines for below a comparison of tokens: gaps at every size, of the whole text and of each of its languages."""
    untagged = tag_of_untagged({document.language for document in documents})
    lacking = sum(not document.language for document in documents) if untagged else 0
    documents = [document._replace(language=document.language or untagged) for document in documents]
    texts = {"": documents}
    languages = sorted({document.language for document in documents})
    if len(languages) > 1:
        texts |= {one: [document for document in documents if document.language == one] for one in languages}
    bounds: dict[tuple[str, str, int], Bound | None] = {}
    counted: dict[str, dict[str, PretokenCounts]] = {}
    notes = [f"  {note_of_untagged(lacking)}."] if lacking else []
    for pair in sizes:
        loaded = [one_of_several(side.folders[size], reading) for side, size in zip((a, b), pair, strict=True)]
        for language, text in texts.items():
            told = []
            for name, tokenizer, size in zip(distinct(a, b), loaded, pair, strict=True):
                size = size or tokenizer.nominal_size
                key = ("" if tokenizer.library_name else tokenizer.pretokenization, language, size)
                scheme = key[0]
                if scheme and scheme not in counted:
                    counted[scheme] = _counts(documents, scheme)
                if scheme and key not in bounds:
                    found = bounded_or_why(counted[scheme][language], size, gap=NEAR, steps=STEPS)
                    bounds[key] = None if found["bound"] is None else bound_of(found, "the bound")
                tokens = sum(tokenizer.count(document.text) for document in text)
                gap = gap_of(tokens, size, tokenizer, bounds.get(key))
                said = gap.reason if gap.value is None else f"{printed(gap.value, 'percent', 2)} % above {gap.n:,}"
                told.append(f"{name} {said}" if gap.value is None else f"{name} {said} ({scheme})")
            where = ", ".join(filter(None, (size_label(*pair), language)))
            notes.append(f"  gap, {where}: {listed(told)}.")
    if long := sum(sum(one.left_out.values()) for (_, language, _), one in bounds.items() if one and not language):
        notes.append(
            f"  Pre-tokens of more than {MAX_PRETOKEN_BYTES} bytes are left out of the gaps: {long:,} occurrences."
        )
    if len({scheme for scheme, *_ in bounds}) > 1:
        notes.append("  Gaps under different pre-tokenizations are not to be compared with each other.")
    return [*notes, "  gap: tokens above those that any vocabulary of the size needs for the same pre-tokens (proven)."]


def _counts(documents: Sequence[Document], scheme: str) -> dict[str, PretokenCounts]:
    """Of each language, and of all together without a name."""
    parts = count_languages(((document.language, document.text) for document in documents), scheme)
    return parts | {"": merge_counts(list(parts.values()))}
