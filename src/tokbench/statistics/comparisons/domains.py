"""Comparison of tokenizers by domain: tokens, bits of n-gram models and bits of language models, and weighted means.

A domain is a source of a corpus that mixes several. All tokenizers are measured on the same documents, so differences
are paired by document. The weighted mean over domains has the weights of the configuration, or the shares of the
domains in the bytes of the evaluation split. Nothing is trained or measured again for other weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.comparisons.families import BITS, NGRAM, TOKENS
from tokbench.statistics.comparisons.judgement_columns import judgement_columns
from tokbench.statistics.comparisons.model_bits import DOCUMENTS_EACH, NO_SEED
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.significance.estimate import DOCUMENTS, Estimate, ratio
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.stratified import weighted_ratio
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, MODEL, SIZE, SUITE, VARIANT, A, B
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable

Row = dict[str, Any]
KEY = ("corpus", "measure", "model", "suite", "size")
MEAN = "weighted mean"
"""Domain of the rows of the weighted mean over domains."""
DEFINITIONS = {
    TOKENS: "tokens per byte",
    NGRAM: "bits per byte of token n-gram models of the highest order and largest budget",
    BITS: "bits per byte of {model}, by {suite}",
}
"""Quantity of each measure, in a phrase."""
Runs = Mapping[int | None, NDArray[np.float64]]
"""Numerators of each document by seed; the seed is None if there is one run."""
NOTE = (
    "Fewer are better. The weighted mean has the weights of the key statistics.domain_weights, or the shares of bytes "
    "in the evaluation split. Its interval is stratified by domain."
)


def domain_documents(
    domains: pl.DataFrame, tokens: pl.DataFrame, ngram_documents: pl.DataFrame, bits_by_seed: pl.DataFrame
) -> pl.DataFrame:
    """Return the numerators of all measures by document, with their domains.

    Args:
        domains: domain of each document, see :mod:`tokbench.tabulation.domains`.
        tokens: token counts of documents. A group of documents has one domain.
        ngram_documents: bits of documents by token n-gram models, of which those of the highest order and largest
            budget are used.
        bits_by_seed: bits of documents by language models and seed.

    Returns:
        Columns of :data:`KEY`, ``variant``, ``seed``, ``document``, ``domain``, ``bytes`` and ``part``.
    """
    last = [pl.col(name) == pl.col(name).max().over("corpus") for name in ("order", "training_bytes")]
    none = {"model": pl.lit(""), "suite": pl.lit(""), "seed": pl.lit(None, pl.Int64)}
    frames = [
        tokens.with_columns(measure=pl.lit(TOKENS), part=pl.col("tokens"), **none),
        ngram_documents.filter(last).with_columns(measure=pl.lit(NGRAM), part=pl.col("bits"), **none),
        bits_by_seed.with_columns(measure=pl.lit(BITS), part=pl.col("bits"), seed=pl.col("seed").cast(pl.Int64)),
    ]
    names = [*KEY, "variant", "seed", "document", "bytes", "part"]
    parts = [frame.select(names).with_columns(pl.col("bytes", "part").cast(pl.Float64)) for frame in frames]
    named = domains.select("corpus", "document", "domain")
    return pl.concat(parts).join(named, on=("corpus", "document"), maintain_order="left")


@dataclass(frozen=True)
class _Group:
    """Variants of a corpus, measure, model, suite and size, on the documents that all of them have.

    Attributes:
        key: values of :data:`KEY`.
        domains: domain of each document.
        sizes: bytes of each document, float64 [documents].
        parts: numerators by variant.
        weights: weight of each domain; they add up to one.
        unit: name of the documents, if they are other units.
    """

    key: tuple[Any, ...]
    domains: NDArray[np.str_]
    sizes: NDArray[np.float64]
    parts: Mapping[str, Runs]
    weights: Mapping[str, float]
    unit: str

    @property
    def trained(self) -> bool:
        return bool(self.key[1] == BITS)

    @property
    def head(self) -> Row:
        """Values of the columns that all rows of the group share."""
        _, measure, model, suite, _ = self.key
        definition = DEFINITIONS[measure].format(model=model, suite=suite)
        return dict(zip(KEY, self.key, strict=True)) | {"definition": definition}

    def estimate(self, rows: NDArray[np.float64], domain: str) -> Estimate | None:
        """Return a ratio of sums over the documents of a domain, or the weighted mean over domains.

        Args:
            rows: numerators, float64 [seeds, documents].
            domain: the domain, or :data:`MEAN`.
        """
        if domain == MEAN:
            names: list[str] = self.domains.tolist()
            return weighted_ratio(rows, self.sizes, names, self.weights, unit=self.unit, trained=self.trained)
        own = self.domains == domain
        return ratio(rows[:, own], self.sizes[own], unit=self.unit, trained=self.trained)

    def value(self, variant: str, domain: str) -> Row:
        """Return the row of a variant in a domain."""
        estimate = self.estimate(np.stack(list(self.parts[variant].values())), domain)
        own = self.domains == domain if domain != MEAN else np.full(len(self.domains), True)
        row = self.head | {"variant": variant, "domain": domain}
        row |= {"documents": int(own.sum()), "bytes": int(self.sizes[own].sum())}
        row["weight"] = self.weights.get(domain, 0.0) if domain != MEAN else None
        if estimate is not None:
            low, high = estimate.ends()
            row |= {"value": estimate.difference, "low": low, "high": high}
        return row

    def difference(self, pair: tuple[str, str], domain: str) -> tuple[Estimate | None, int]:
        """Return the difference of two variants over their common seeds, and the number of these.

        Without a common seed, the difference is that of the first seeds, and is not tested.
        """
        a, b = (self.parts[name] for name in pair)
        seeds = [seed for seed in a if seed in b]
        differences = [a[seed] - b[seed] for seed in seeds] or [next(iter(a.values())) - next(iter(b.values()))]
        estimate = self.estimate(np.stack(differences), domain)
        return (estimate if seeds or estimate is None else estimate.exclude(NO_SEED)), len(seeds)


def _groups(
    documents: pl.DataFrame, weights: Mapping[str, float], unit_names: Mapping[str, str] = DOCUMENTS_EACH
) -> Iterator[_Group]:
    """Yield the groups with two domains or more."""
    for key, part in documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        place = ["document", "domain", "bytes"]
        variants = part["variant"].n_unique()
        shared = part.group_by(place).agg(pl.col("variant").n_unique()).filter(variant=variants).sort(place)
        places = shared.filter(pl.col("bytes") > 0).select(place)
        sizes: dict[str, float] = dict(places.group_by("domain").agg(pl.col("bytes").sum()).sort("domain").iter_rows())
        if len(sizes) < 2:
            continue
        parts: dict[str, dict[int | None, NDArray[np.float64]]] = {}
        for (variant, seed), of_run in part.group_by("variant", "seed", maintain_order=True):
            lined_up = places.join(of_run, on=place, how="inner", maintain_order="left")
            if len(lined_up) == len(places):
                parts.setdefault(str(variant), {})[seed] = lined_up["part"].to_numpy()
        named = {name: weights.get(name, 0.0) if weights else size for name, size in sizes.items()}
        whole = fsum(named.values())
        shares = {name: weight / whole if whole else 0.0 for name, weight in named.items()}
        domains = places["domain"].to_numpy().astype(str)
        unit = unit_names.get(str(key[0]), DOCUMENTS)
        yield _Group(key, domains, places["bytes"].to_numpy(), parts, shares, unit)


def domain_values(domain_documents: pl.DataFrame, domain_weights: Mapping[str, float]) -> pl.DataFrame:
    """Return the value of each tokenizer in each domain, and its weighted mean.

    Args:
        domain_documents: see :func:`domain_documents`.
        domain_weights: weight by domain; empty for the shares of bytes.

    Returns:
        The columns of :data:`DOMAIN_VALUES`; no row for a corpus with one domain.
    """
    return DOMAIN_VALUES.frame(
        group.value(variant, domain)
        for group in _groups(domain_documents, domain_weights)
        for domain in (*group.weights, MEAN)
        for variant in sorted(group.parts)
    )


def domain_comparisons(
    domain_documents: pl.DataFrame,
    domain_weights: Mapping[str, float],
    baselines_of_all: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
) -> pl.DataFrame:
    """Compare every two tokenizers in each domain and by the weighted mean.

    P-values of the weighted mean are corrected over all pairs, those of domains over all pairs and domains.

    Args:
        domain_documents: see :func:`domain_documents`.
        domain_weights: weight by domain; empty for the shares of bytes.
        baselines_of_all: baseline by variant, used if there are many variants.
        undersized: variant and size of undersized vocabularies, which are not tested (default: none).
        unit_names: name of the units by corpus (default: documents).

    Returns:
        The columns of :data:`DOMAIN_COMPARISONS`; no row for a corpus with one domain.
    """
    rows: list[Row] = []
    for group in _groups(domain_documents, domain_weights, unit_names):
        level = {name: fsum(map(fsum, runs.values())) / len(runs) for name, runs in group.parts.items()}
        pairs = sorted_pairs(sorted(group.parts), min(level, key=lambda name: (level[name], name)), baselines_of_all)
        for family in ([MEAN], list(group.weights)):
            rows += _judged(group, [(pair, domain) for domain in family for pair in pairs], undersized)
    return DOMAIN_COMPARISONS.frame(rows)


def _judged(group: _Group, family: Sequence[tuple[tuple[str, str], str]], undersized: Undersized) -> Iterator[Row]:
    """Yield the rows of a family of differences."""
    known = []
    for pair, domain in family:
        estimate, seeds = group.difference(pair, domain)
        if estimate is not None:
            smaller = any((name, group.key[-1]) in undersized for name in pair)
            known.append((pair, domain, estimate.exclude(LEFT_OUT) if smaller else estimate, seeds))
    for (pair, domain, _, seeds), judgement in zip(known, judge([one[2] for one in known]), strict=True):
        yield (
            group.head
            | {"domain": domain, "a": pair[0], "b": pair[1]}
            | asdict(judgement)
            | {"seeds": seeds if group.trained else None}
        )


MEASURE = Column("measure", pl.String, "`tokens`, `ngram_bits_per_byte` (models of the highest order and largest "
                 "budget), or `bits_per_byte` of language models", "", "measure")  # fmt: skip
DEFINITION = Column("definition", pl.String, "the quantity, in a phrase", "", "quantity")
DOMAIN = Column("domain", pl.String, f"name of a source of the corpus, or `{MEAN}`", "", "domain")
PER_BYTE = "per byte"
DOMAIN_VALUES = TidyTable(
    "domain_values",
    "a tokenizer at a vocabulary size by a measure, on a domain of a corpus or by the weighted mean over domains",
    (
        CORPUS,
        MEASURE,
        DEFINITION,
        MODEL,
        SUITE,
        SIZE,
        VARIANT,
        DOMAIN,
        Column("value", pl.Float64, "tokens or bits / bytes", PER_BYTE, "per byte", 4, "the domain has no text"),
        Column("low", pl.Float64, "lower end of its 95 % interval, over documents and seeds", PER_BYTE, "low", 4,
               "one document, or no spread"),
        Column("high", pl.Float64, "upper end of this interval", PER_BYTE, "high", 4, "one document, or no spread"),
        Column("weight", pl.Float64, "weight of the domain in the weighted mean", SHARE, "weight (%)", 1,
               "sum of all domains"),
        Column("documents", pl.Int64, "documents, groups of documents, or units", "documents", "documents"),
        Column("bytes", pl.Int64, "bytes of their text", "bytes", "bytes"),
    ),
    maker=domain_values,
    takes=("domain_documents", "domain_weights"),
    prints=(
        Print(
            "statistics",
            f"By domain of {{corpus}} at vocabulary size {{size}}: {{definition}}. {NOTE}",
            ("domain", "variant", "value", "low", "high", "weight", "documents", "bytes"),
            by=("corpus", "definition", "size"),
            folds_above=20,
            arranged=True,
        ),
    ),
)  # fmt: skip
DOMAIN_COMPARISONS = TidyTable(
    "domain_comparisons",
    f"two tokenizers at a vocabulary size by a measure, on a domain or by the weighted mean over domains; {SELECTION}",
    (
        CORPUS,
        MEASURE,
        DEFINITION,
        MODEL,
        SUITE,
        SIZE,
        DOMAIN,
        A,
        B,
        *judgement_columns("over documents, paired, and seeds",
                           "all pairs of the weighted mean, or all pairs and domains", PER_BYTE),
        Column("seeds", pl.Int64, "seeds that both models were trained with; empty if no model was trained", "seeds",
               "seeds"),
    ),
    maker=domain_comparisons,
    takes=("domain_documents", "domain_weights", "baselines_of_all", "undersized", "unit_names"),
    prints=(
        Print(
            "statistics",
            f"By domain of {{corpus}} at vocabulary size {{size}}, of a minus those of b: {{definition}}. {NOTE}",
            ("domain", "a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "n"),
            by=("corpus", "definition", "size"),
            folds_above=20,
            arranged=True,
        ),
    ),
)  # fmt: skip
