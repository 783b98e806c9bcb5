"""Comparisons of tokenizers with each other, as rows of the table of intrinsic metrics.

Tokenizers are compared within a corpus and a vocabulary size. If the other tokenizer is missing, rows have no value and
a reason.
"""

from collections.abc import Collection, Mapping, Sequence
from math import fsum

import polars as pl

from tokbench.kernels.exact import exact_mean
from tokbench.metric.length import CHARACTERS, character_length
from tokbench.metric.measurement import ADDED, DROPPED, Form, Measurement, ratio, token_set
from tokbench.vocabulary import Vocabulary

Tokenizer = tuple[str, int]
"""Variant and vocabulary size."""
Vocabularies = Mapping[Tokenizer, Vocabulary]
Compared = list[tuple[Tokenizer, Measurement]]

ALL_RESOURCES = "all resources"
"""Value of the column ``corpus`` for means over resources."""


def exchanged_tokens(vocabularies: Vocabularies, baseline: str) -> Compared:
    """Return measurements of the tokens that a vocabulary drops from the baseline's and of those that it adds.

    "BPE gets picky" reports word-initial share and mean length of both ("Token qualities"). "A partition cover approach
    to tokenization" reports the share of common tokens (appendix B).

    Args:
        vocabularies: vocabularies of one corpus, by variant and size.
        baseline: variant to compare with.
    """
    rows: Compared = []
    for (variant, size), vocabulary in vocabularies.items():
        other = vocabularies.get((baseline, size))
        own, theirs = token_set(vocabulary), frozenset() if other is None else token_set(other)
        measurements = [
            *_described("dropped_tokens", f"tokens of {baseline} that the vocabulary lacks {DROPPED}", theirs - own),
            *_described("added_tokens", f"tokens of the vocabulary that {baseline} lacks {ADDED}", own - theirs),
            _common(own, theirs, baseline),
        ]
        if other is None:
            reason = f"{baseline} is not built at this size"
            measurements = [Measurement(row.metric, row.definition, None, 0, reason) for row in measurements]
        rows += (((variant, size), row) for row in measurements)
    return rows


def _described(name: str, which: str, tokens: frozenset[Form]) -> list[Measurement]:
    """Return the number of tokens, the share that begins a word, and the mean length."""
    n, none = len(tokens), "there are no such tokens"
    initial = sum(token[0] == 0x20 for token, _ in tokens)
    characters = sum(character_length(token) for token, _ in tokens)
    return [
        Measurement(name, which, float(n), n),
        ratio("word_initial_share", f"share that begins with a space, of the {which}", initial, n, none),
        ratio("mean_token_length", f"mean {CHARACTERS} of the {which}", characters, n, none),
    ]


def _common(own: frozenset[Form], theirs: frozenset[Form], baseline: str) -> Measurement:
    longer = frozenset(form for form in own if len(form[0]) > 1)
    definition = f"tokens longer than one byte that {baseline} has, too / tokens longer than one byte"
    none = "no token is longer than one byte"
    return ratio("common_token_share", definition, len(longer & theirs), len(longer), none)


def venn_tokens(vocabularies: Vocabularies, variants: Sequence[str]) -> Compared:
    """Return the regions of a Venn diagram, as rows of each of its three vocabularies.

    Args:
        vocabularies: vocabularies by variant and size.
        variants: names of three variants.
    """
    rows: Compared = []
    for size in sorted({size for _, size in vocabularies}):
        if not all((variant, size) in vocabularies for variant in variants):
            continue
        sets = {variant: token_set(vocabularies[variant, size]) for variant in variants}
        for variant, own in sets.items():
            first, second = (other for other in variants if other != variant)
            for inside in ((), (first,), (second,), (first, second)):
                outside = [other for other in (first, second) if other not in inside]
                tokens = own.intersection(*(sets[other] for other in inside)).difference(
                    *(sets[other] for other in outside)
                )
                within = f"in {' and '.join(sorted((variant, *inside)))}"
                definition = "tokens " + ", ".join([within, *(f"not in {other}" for other in sorted(outside))])
                rows.append(((variant, size), Measurement("venn_region", definition, float(len(tokens)), len(own))))
    return rows


def partition_cover_ratio(measured: pl.DataFrame, covering: Collection[Tokenizer]) -> Compared:
    """Return pairs that a tokenizer joins over pairs that GreedWMC's vocabulary of the same size covers.

    For GreedTok this is the ratio d of "A partition cover approach to tokenization", section 5.2. Together with
    GreedWMC's guarantee it bounds how far GreedTok can be from the best choice.

    Args:
        measured: rows of the table of intrinsic metrics, for one corpus.
        covering: the tokenizers whose construction is GreedWMC.
    """
    rows: Compared = []
    pairs = {
        metric: {(row["variant"], row["size"]): row for row in measured.filter(metric=metric).iter_rows(named=True)}
        for metric in ("joined_pairs", "covered_pairs")
    }
    for cover in sorted(set(covering) & pairs["covered_pairs"].keys()):
        base = pairs["covered_pairs"][cover]
        definition = f"joined pairs / pairs that the vocabulary of {cover[0]} (GreedWMC) of the same size covers"
        for tokenizer, row in pairs["joined_pairs"].items():
            if tokenizer[1] != cover[1]:
                continue
            share = ratio("partition_cover_ratio", definition, row["value"], int(base["value"]), "it covers no pair")
            if row["n"] != base["n"]:
                reason = f"{cover[0]} is measured on other pre-tokens"
                share = Measurement(share.metric, definition, None, 0, reason)
            rows.append((tokenizer, share))
    return rows


def exchanged_embeddings(
    embeddings: Mapping[Tokenizer, pl.DataFrame], vocabularies: Vocabularies, baseline: str, model: str
) -> Compared:
    """Return embedding norms and probabilities of the tokens that a vocabulary drops and adds.

    Dropped tokens are measured in the baseline's model, added ones in the variant's model, as in figures 3 to 5 of "BPE
    gets picky".

    Args:
        embeddings: tables of tokens from :meth:`tokbench.metric.embeddings.Embeddings.to_frame`, of models of one
            recipe.
        vocabularies: vocabularies of one corpus, by variant and size.
        baseline: variant to compare with.
        model: name of the recipe.
    """
    rows: Compared = []
    for (variant, size), table in embeddings.items():
        other, base = vocabularies.get((baseline, size)), embeddings.get((baseline, size))
        if variant == baseline or other is None or (variant, size) not in vocabularies:
            continue
        own, theirs = _spelt(vocabularies[variant, size]), _spelt(other)
        added = table.filter(pl.Series([form not in theirs for form in own]))
        rows += (
            ((variant, size), row) for row in marked(added, f"tokens that {baseline} lacks {ADDED}; model {model}")
        )
        if base is not None:
            dropped = base.filter(pl.Series([form not in own for form in theirs]))
            which = f"tokens of {baseline} that the vocabulary lacks {DROPPED}, in {baseline}'s model {model}"
            rows += (((variant, size), row) for row in marked(dropped, which))
    return rows


def marked(tokens: pl.DataFrame, which: str) -> list[Measurement]:
    """Return mean embedding norm and mean probability of tokens, rows of :meth:`Embeddings.to_frame`."""
    n, none = len(tokens), "there are no such tokens"
    norm, probability = fsum(tokens["norm"]), fsum(tokens["probability"])
    return [
        ratio("mean_embedding_norm", f"mean L2 norm of the input embeddings of {which}", norm, n, none),
        ratio("mean_token_probability", f"mean probability of {which}", probability, n, none),
    ]


def _spelt(vocabulary: Vocabulary) -> dict[Form, None]:
    """Return the forms of a vocabulary in id order."""
    inside = [False] * len(vocabulary) if vocabulary.continuation is None else vocabulary.continuation.tolist()
    return dict.fromkeys(zip(vocabulary.tokens, inside, strict=True))


def mean_over_resources(measured: pl.DataFrame) -> Compared:
    """Return morphological alignment and its coverage, averaged over the resources with equal weight.

    ByteSpan and Uzan et al. 2024 report alignment in this way. If a resource has no scored word, the mean is null and
    the reason names it. A mean of values that leave out words has their notes as its reason.

    Args:
        measured: rows of the table of intrinsic metrics; ``corpus`` is the name of the resource.
    """
    rows: Compared = []
    chosen = measured.filter(
        pl.col("metric").is_in(["morphological_alignment", "morphological_coverage"]), pl.col("language") == ""
    ).sort("corpus")
    keys = ["metric", "definition", "variant", "size"]
    for (metric, definition, variant, size), part in chosen.group_by(keys, maintain_order=True):
        resources = ", ".join(part["corpus"])
        lacking = part.filter(pl.col("value").is_null())["corpus"].to_list()
        value = None if lacking else exact_mean(part["value"])
        notes = part.drop_nulls("reason").select("corpus", "reason").rows()
        incomplete = "; ".join(f"{corpus}: {note}" for corpus, note in notes) or None
        reason = f"no value for {', '.join(lacking)}" if lacking else incomplete
        meaning = f"{definition}; mean over the resources {resources}"
        over_all = Measurement(str(metric), meaning, value, len(part), reason)
        rows.append(((str(variant), int(str(size))), over_all))
    return rows
