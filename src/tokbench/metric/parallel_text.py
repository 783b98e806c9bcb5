"""Parallel text: tokens per sentence of each language, and premiums over a reference language.

A sentence is a line that is not blank. Languages are compared only if all have the same number of sentences, as
translations of one text do. The premium of a language is its tokens per sentence relative to those of the reference
language (Petrov et al. 2023). The Gini coefficient is that of :mod:`tokbench.metric.parity`.

Reference: ``premiums`` in :mod:`tokbench.reference.documents`.
"""

from collections import Counter
from fractions import Fraction

from tokbench.corpus.languages import tag_of_untagged
from tokbench.errors import TokbenchError
from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.parity import GINI, gini
from tokbench.options import Options


class ParallelTextOptions(Options):
    reference: str | None = None
    """Language tag of the reference language of premiums. Default: the language with the fewest tokens."""


@metric(
    "parallel_text",
    options=ParallelTextOptions,
    of="documents",
    per_language=True,
    cites=("petrov2023", "foroutan2026"),
    better={"premium_gini": "lowest"},
    shown=(
        Shown("tokens_per_sentence", "languages"),
        Shown("premium", "languages", "premium per sentence"),
        Shown("premium_gini", "languages", "Gini coefficient per sentence"),
    ),
)
def parallel_text(documents: Documents, options: ParallelTextOptions) -> list[tuple[str, Measurement]]:
    """Return tokens per sentence and premium of each language, and the Gini coefficient of all.

    Text in one language has no row. Text that is not parallel has one row, with the reason.

    Raises:
        TokbenchError: the reference is not a language of the parallel text.
    """
    tokens: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    # Count tokens and sentences of each language.
    for document in documents:
        tokens[document.language] += len(document.ids)
        sentences[document.language] += sum(1 for line in document.text.split(b"\n") if line.strip())
    if untagged := tag_of_untagged(tokens):
        for counts in (tokens, sentences):
            counts[untagged] += counts.pop("", 0)
    # The text must be parallel: the same number of sentences in two languages or more.
    languages = sorted(language for language, number in sentences.items() if number)
    if len(languages) < 2:
        return []
    definition = f"{GINI} tokens per sentence (line that is not blank)"
    if len({sentences[language] for language in languages}) > 1:
        reason = "languages have different numbers of sentences, so the text is not parallel"
        return [("", Measurement("premium_gini", definition, None, 0, reason))]
    if options.reference is not None and options.reference not in languages:
        raise TokbenchError(
            f"parallel_text.reference: the text has no language {options.reference!r}; "
            f"name one of {', '.join(languages)}"
        )
    # Divide by the reference language, or by the one with the fewest tokens.
    base = options.reference or min(languages, key=lambda language: (tokens[language], language))
    which = options.reference or "the language that has fewest"
    none = "the text has no tokens"
    inequality = gini([Fraction(tokens[language]) for language in languages])
    share = None if inequality is None else float(inequality)
    rows = [("", Measurement("premium_gini", definition, share, 0 if share is None else len(languages)))]
    for language in languages:
        per_sentence = "tokens / sentences (lines that are not blank)"
        rows.append((language, ratio("tokens_per_sentence", per_sentence, tokens[language], sentences[language], none)))
        over = f"tokens per sentence of the language / those of {which}"
        rows.append((language, ratio("premium", over, tokens[language], tokens[base], none)))
    return rows
