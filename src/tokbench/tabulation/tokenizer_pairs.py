"""What only several tokenizers together tell: rows of the table of intrinsic metrics that compare one with another.

Comparisons are within a corpus and a vocabulary size. A tokenizer that lacks its counterpart gets rows without a value,
and the reason.
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
"""What stands in place of a corpus where resources are averaged."""


def exchanged_tokens(vocabularies: Vocabularies, baseline: str) -> Compared:
    """Tokens of the baseline that a vocabulary drops, and those that it has instead.

    "BPE gets picky" reports word-initial share and mean length of both beside those of the whole vocabulary ("Token
    qualities"); "A partition cover approach to tokenization" the share of common tokens (appendix B).

    Args:
        vocabularies: by variant and size, all of one corpus.
        baseline: the variant to compare with.
    """
    rows: Compared = []
    for (variant, size), vocabulary in vocabularies.items():
        other = vocabularies.get((baseline, size))
        own, theirs = token_set(vocabulary), frozenset() if other is None else token_set(other)
        found = [
            *_described("dropped_tokens", f"tokens of {baseline} that the vocabulary lacks {DROPPED}", theirs - own),
            *_described("added_tokens", f"tokens of the vocabulary that {baseline} lacks {ADDED}", own - theirs),
            _common(own, theirs, baseline),
        ]
        if other is None:
            reason = f"{baseline} is not built at this size"
            found = [Measurement(row.metric, row.definition, None, 0, reason) for row in found]
        rows += (((variant, size), row) for row in found)
    return rows


def _described(name: str, which: str, tokens: frozenset[Form]) -> list[Measurement]:
    """How many tokens, how many of them begin a word, how long they are."""
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
    """The regions of a Venn diagram, as rows of each of the three vocabularies that it is made of.

    Args:
        vocabularies: by variant and size.
        variants: three names.
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
    """Pairs that a tokenizer joins over pairs that GreedWMC's vocabulary of the same size covers.

    For GreedTok this is the ratio d of "A partition cover approach to tokenization", section 5.2: together with
    GreedWMC's own guarantee it bounds how far GreedTok can be from the best choice.

    Args:
        measured: rows of the table of intrinsic metrics, of one corpus.
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
            found = ratio("partition_cover_ratio", definition, row["value"], int(base["value"]), "it covers no pair")
            if row["n"] != base["n"]:
                reason = f"{cover[0]} is measured on other pre-tokens"
                found = Measurement(found.metric, definition, None, 0, reason)
            rows.append((tokenizer, found))
    return rows


def exchanged_embeddings(
    embeddings: Mapping[Tokenizer, pl.DataFrame], vocabularies: Vocabularies, baseline: str, model: str
) -> Compared:
    """Embedding norms and probabilities of the tokens that a vocabulary drops and adds, each in its own model.

    So "BPE gets picky" marks them in its figures 3 to 5: dropped tokens in the baseline's model, added ones in the
    variant's.

    Args:
        embeddings: tables of tokens as :meth:`tokbench.metric.embeddings.Embeddings.to_frame` makes them, of models
            of one recipe.
        vocabularies: by variant and size, all of one corpus.
        baseline: the variant to compare with.
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
    """Mean embedding norm and mean probability of some tokens, rows of :meth:`Embeddings.to_frame`."""
    n, none = len(tokens), "there are no such tokens"
    norm, probability = fsum(tokens["norm"]), fsum(tokens["probability"])
    return [
        ratio("mean_embedding_norm", f"mean L2 norm of the input embeddings of {which}", norm, n, none),
        ratio("mean_token_probability", f"mean probability of {which}", probability, n, none),
    ]


def _spelt(vocabulary: Vocabulary) -> dict[Form, None]:
    """The forms of a vocabulary in id order."""
    inside = [False] * len(vocabulary) if vocabulary.continuation is None else vocabulary.continuation.tolist()
    return dict.fromkeys(zip(vocabulary.tokens, inside, strict=True))


def mean_over_resources(measured: pl.DataFrame) -> Compared:
    """Alignment with morphemes and its coverage averaged over the resources, each with equal weight.

    So ByteSpan and Uzan et al. 2024 report alignment. A resource in which no word is scored leaves no mean that could
    be compared with others, and is named.

    Args:
        measured: rows of the table of intrinsic metrics, with ``corpus`` the name of the resource.
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
        reason = f"no value for {', '.join(lacking)}" if lacking else None
        meaning = f"{definition}; mean over the resources {resources}"
        over_all = Measurement(str(metric), meaning, value, len(part), reason)
        rows.append(((str(variant), int(str(size))), over_all))
    return rows
