"""Causal effect of a token: how much likelier its characters become when it is in the vocabulary.

Lesci, Meister, Hofmann, Vlachos and Pimentel, "Causal Estimation of Tokenisation Bias" (2025). A construction ranks
tokens and the vocabulary ends at an arbitrary rank, so tokens just before and just after it differ in little but their
presence. The outcome of a token is the mean log-probability of its occurrences, in bits. The effect is the jump of the
outcome at the end of the vocabulary, see :mod:`tokbench.statistics.effects.discontinuity`. As a ratio of probabilities
it is 2 to the power of the effect. Placebo cut-offs are ranks where nothing happens; effects there should be nil.

Every seed of a model shares the tokenizer and the text. The interval over seeds covers other trainings, with the same
tokens. The interval over tokens covers other tokens near the cut-off, with the same trainings. The interval over both
adds the two variances, with Satterthwaite's degrees of freedom (1946). Variation of single tokens between seeds is in
both, so it is slightly too wide.

A model that gives each token the same probability, as before training, has an effect too: the tokens that spell a token
outside the vocabulary, minus one, times the logarithm of the vocabulary's size. Training has to be compared with it.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Any

import numpy as np
import polars as pl

from tokbench.kernels.elementary import exponentials_of, logs_of
from tokbench.statistics.effects.scored_model import CUTOFF, KEY, PLACEBO, ScoredModel, jump_of, scored_models
from tokbench.statistics.significance.estimate import Estimate
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, VARIANT
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable

BINS = 8
"""Number of points of the figure per bandwidth."""
FEW = "fewer than four tokens with an occurrence on a side of the cut-off"
ONE_SEED = "one training: variation between seeds is not known"
BITS = "bits"
OVER_BANDWIDTHS = ("least", "most")
"""Columns of the smallest and largest effect over bandwidths."""
_HEAD = (CORPUS, VARIANT, SIZE, MODEL)
_KEYS = (
    Column("kind", pl.String, "`cut-off` for the end of the vocabulary, `placebo` for a rank where nothing happens"),
    Column("cutoff", pl.Int64, "rank of the cut-off, from the end of the vocabulary", "ranks"),
    Column("bandwidth", pl.Int64, "ranks on each side of the cut-off, through which the lines are fitted", "ranks"),
    Column("band", pl.String, "occurrences of the tokens in the text as segmented by the longer vocabulary; empty for "
           "all tokens", heading="occurrences"),
)  # fmt: skip
_EFFECT = Column(
    "effect", pl.Float64,
    "mean log-probability of an occurrence for tokens in the vocabulary minus that for tokens outside, at the cut-off",
    BITS, "effect (bits)", 3,
)  # fmt: skip
_LOW = Column("low", pl.Float64, "lower end of its 95 % interval over tokens, by HC3 and Student's t", BITS, "low", 3)
_HIGH = Column("high", pl.Float64, "upper end of this interval", BITS, "high", 3)
_ERROR = Column("error", pl.Float64, "standard error (HC3) over tokens", BITS, "standard error", 3)
_DEGREES = Column("degrees", pl.Float64, "degrees of freedom: tokens minus 4", "", "degrees", 0)
_FILES = ("token_scores/{model}/{variant}/{size}.json",)


def token_effects(token_scores_by_seed: pl.DataFrame, bandwidth: int | None = None) -> pl.DataFrame:
    """Estimate the effect of a token's presence for every model and tokenizer, over all seeds.

    Args:
        token_scores_by_seed: scores of tokens with a column ``seed``.
        bandwidth: ranks on each side of a cut-off. Default: a quarter of the scored ranks on a side.

    Returns:
        The columns of :data:`TOKEN_EFFECTS`: estimates at the end of the vocabulary with the bandwidth, half and twice
        of it, by frequency band, and at placebo cut-offs. Each has the same estimate for a model that was not trained.
    """
    rows: list[dict[str, Any]] = []
    for key, model in scored_models(token_scores_by_seed, bandwidth):
        means = model.means
        for kind, cutoff, width, band, ranks in model.fits():
            row = _head(key, kind, cutoff, width, band) | {"seeds": model.seeds}
            # The jump at the cut-off, of the mean over seeds.
            if (of_means := jump_of(means, cutoff, width, ranks)) is None:
                rows.append(row | {"reason": FEW})
                continue
            estimate = of_means.estimate
            low, high = estimate.ends()
            # Its spread between seeds, in addition to that over tokens.
            by_seed = [jump_of(outcomes, cutoff, width, ranks) for outcomes in model.outcomes]
            over_seeds = _mean_over_seeds([of_seed.estimate.difference for of_seed in by_seed if of_seed is not None])
            row |= _values_of(estimate)
            if over_seeds is not None:
                row["seed_low"], row["seed_high"] = over_seeds.ends()
                row["both_low"], row["both_high"] = _add_variances(estimate, over_seeds).ends()
            # As a ratio of probabilities, and with the fitted lines on both sides.
            ratios = ratios_of([estimate.difference, low, high])
            row |= dict(zip(("ratio", "ratio_low", "ratio_high"), ratios, strict=True))
            for side, line in (("inside", of_means.inside), ("outside", of_means.outside)):
                row |= {side: line.points, f"{side}_level": line.level, f"{side}_slope": line.slope}
            # The jump of a uniform distribution, which a model has without training.
            untrained = jump_of(model.uniform, cutoff, width, ranks)
            row["untrained"] = None if untrained is None else untrained.estimate.difference
            rows.append(row | {"reason": None if model.seeds > 1 else ONE_SEED})
    # Lowest and highest effect over bandwidths.
    over = pl.when(kind=CUTOFF, band="").then("effect")
    return (
        TOKEN_EFFECTS.frame(rows)
        .with_columns(
            pl.when(kind=CUTOFF, band="").then(end.over(*KEY)).alias(name)
            for name, end in zip(OVER_BANDWIDTHS, (over.min(), over.max()), strict=True)
        )
        .select(*TOKEN_EFFECTS.schema)
    )


def ratios_of(bits: Sequence[float | None]) -> list[float | None]:
    """Return 2 to the power of each number; None for None."""
    known = np.array([0.0 if exponent is None else exponent for exponent in bits])
    powers = exponentials_of(known * float(logs_of([2.0])[0])).tolist()
    return [None if exponent is None else value for exponent, value in zip(bits, powers, strict=True)]


def _mean_over_seeds(effects: Sequence[float]) -> Estimate | None:
    """Return the mean effect over seeds with its standard error between them; None for one seed."""
    count = len(effects)
    if count < 2:
        return None
    mean = fsum(effects) / count
    deviation = sqrt(fsum((effect - mean) ** 2 for effect in effects) / (count - 1))
    return Estimate(mean, deviation / sqrt(count), count - 1.0)


def _add_variances(over_tokens: Estimate, over_seeds: Estimate) -> Estimate:
    """Return the estimate with the sum of two variances, and Satterthwaite's degrees of freedom."""
    squares = [estimate.error * estimate.error for estimate in (over_tokens, over_seeds)]
    parts = [
        square * square / estimate.degrees for square, estimate in zip(squares, (over_tokens, over_seeds), strict=True)
    ]
    degrees = fsum(squares) ** 2 / fsum(parts) if any(parts) else over_tokens.degrees
    return Estimate(over_tokens.difference, sqrt(fsum(squares)), degrees)


def token_effects_by_seed(token_scores_by_seed: pl.DataFrame, bandwidth: int | None = None) -> pl.DataFrame:
    """Estimate the effect of a token's presence for every model, tokenizer and seed.

    Args:
        token_scores_by_seed: scores of tokens with a column ``seed``.
        bandwidth: as for :func:`token_effects`.

    Returns:
        The columns of :data:`TOKEN_EFFECTS_BY_SEED`; estimates without enough tokens are left out.
    """
    rows: list[dict[str, Any]] = []
    for key, part in token_scores_by_seed.group_by(*KEY, maintain_order=True):
        shared = list(ScoredModel(part, bandwidth).fits())
        for (seed,), scores in part.group_by("seed", maintain_order=True):
            outcomes = ScoredModel(scores, bandwidth).means
            for kind, cutoff, width, band, ranks in shared:
                if (jump_of_seed := jump_of(outcomes, cutoff, width, ranks)) is not None:
                    head = _head(key, kind, cutoff, width, band) | {"seed": seed}
                    rows.append(head | _values_of(jump_of_seed.estimate))
    return TOKEN_EFFECTS_BY_SEED.frame(rows)


def _head(key: tuple[Any, ...], kind: str, cutoff: int, width: int, band: str) -> dict[str, Any]:
    """Return the columns that identify an estimate."""
    of = {"kind": kind, "cutoff": cutoff, "bandwidth": width, "band": band}
    return dict(zip(KEY, key, strict=True)) | of


def _values_of(estimate: Estimate) -> dict[str, Any]:
    """Return the columns of an effect and its error."""
    low, high = estimate.ends()
    values = {"effect": estimate.difference, "low": low, "high": high}
    return values | {"error": estimate.error, "degrees": estimate.degrees}


def token_placebos(token_effects: pl.DataFrame, token_effects_by_seed: pl.DataFrame) -> pl.DataFrame:
    """Count the placebo cut-offs with an interval that excludes 0.

    Args:
        token_effects: estimates over all seeds.
        token_effects_by_seed: estimates of every seed.

    Returns:
        The columns of :data:`TOKEN_PLACEBOS`, a row per model and tokenizer with a placebo estimate.
    """
    rows: list[dict[str, Any]] = []
    excludes = (pl.col("low") > 0) | (pl.col("high") < 0)
    for key, part in token_effects.drop_nulls("effect").group_by(*KEY, maintain_order=True):
        placebos = part.filter(kind=PLACEBO)
        if placebos.is_empty():
            continue
        bandwidth = placebos["bandwidth"][0]
        single = token_effects_by_seed.filter(kind=PLACEBO, **dict(zip(KEY, key, strict=True)))
        size = placebos["effect"].abs()
        count, of_seeds = int(placebos.select(excludes.sum()).item()), int(single.select(excludes.sum()).item())
        real = part.filter(kind=CUTOFF, bandwidth=bandwidth, band="")["effect"].to_list()
        larger = int((size >= abs(real[0])).sum()) if real else None
        row = dict(zip(KEY, key, strict=True)) | {"bandwidth": bandwidth}
        row |= {"placebos": len(placebos), "excluding": count, "share": count / len(placebos), "tests": len(single)}
        row |= {"excluding_by_seed": of_seeds, "share_by_seed": of_seeds / len(single)}
        row |= {"largest": max(size.to_list()), "effect": real[0] if real else None, "larger": larger}
        rows.append(row)
    return TOKEN_PLACEBOS.frame(rows)


def token_effect_bins(token_scores_by_seed: pl.DataFrame, bandwidth: int | None = None) -> pl.DataFrame:
    """Average outcomes over neighbouring ranks, for a figure.

    Args:
        token_scores_by_seed: scores of tokens with a column ``seed``.
        bandwidth: as for :func:`token_effects`; a bin has an eighth of its ranks. No bin crosses the cut-off.

    Returns:
        The columns of :data:`TOKEN_EFFECT_BINS`; bins without an occurrence are left out.
    """
    rows: list[dict[str, Any]] = []
    for key, model in scored_models(token_scores_by_seed, bandwidth):
        width = max(model.bandwidth // BINS, 1)
        bins: dict[int, list[float]] = {}
        for rank, value in model.means.items():
            bins.setdefault(rank // width, []).append(value)
        for number, values in sorted(bins.items()):
            row = dict(zip(KEY, key, strict=True)) | {"first": number * width, "last": (number + 1) * width - 1}
            rows.append(row | {"tokens": len(values), "outcome": fsum(values) / len(values)})
    return TOKEN_EFFECT_BINS.frame(rows)


TOKEN_EFFECTS = TidyTable(
    "token_effects",
    "a cut-off, bandwidth and frequency band, for a model with a tokenizer, over all seeds",
    (
        *_HEAD,
        *_KEYS,
        Column("seeds", pl.Int64, "trainings", "seeds"),
        _EFFECT,
        _LOW,
        _HIGH,
        Column("least", pl.Float64, "smallest effect over the bandwidths; at the end of the vocabulary, for all tokens",
               BITS, "least, bandwidths", 3),
        Column("most", pl.Float64, "largest effect over the bandwidths", BITS, "most, bandwidths", 3),
        Column("seed_low", pl.Float64, "lower end of the 95 % interval of the effect over seeds, by Student's t", BITS,
               "low, seeds", 3),
        Column("seed_high", pl.Float64, "upper end of this interval", BITS, "high, seeds", 3),
        Column("both_low", pl.Float64, "lower end of the 95 % interval over tokens and seeds: the two variances added",
               BITS, "low, both", 3),
        Column("both_high", pl.Float64, "upper end of this interval", BITS, "high, both", 3),
        _ERROR,
        _DEGREES,
        Column("ratio", pl.Float64, "2 to the power of the effect: probability in the vocabulary / outside it", "",
               "ratio", 2),
        Column("ratio_low", pl.Float64, "2 to the power of `low`", "", "ratio, low", 2),
        Column("ratio_high", pl.Float64, "2 to the power of `high`", "", "ratio, high", 2),
        Column("inside", pl.Int64, "tokens before the cut-off", "tokens", "tokens before"),
        Column("inside_level", pl.Float64, "outcome at the cut-off by the line before it", BITS, "before (bits)", 2),
        Column("inside_slope", pl.Float64, "slope of this line", "bits per rank"),
        Column("outside", pl.Int64, "tokens after the cut-off", "tokens", "tokens after"),
        Column("outside_level", pl.Float64, "outcome at the cut-off by the line after it", BITS, "after (bits)", 2),
        Column("outside_slope", pl.Float64, "slope of this line", "bits per rank"),
        Column("untrained", pl.Float64, "the same estimate if all tokens of the model were equally probable, as before "
               "training", BITS, "untrained (bits)", 3),
        REASON,
    ),
    maker=token_effects,
    takes=("token_scores_by_seed", "bandwidth"),
    keys=(*KEY, "kind", "cutoff", "bandwidth", "band"),
    prints=(
        Print(
            "statistics",
            "Causal effect of a token's presence in the vocabulary on the log-probability of its characters, on the "
            "evaluation split of {corpus}: jump at the end of the vocabulary between lines fitted on both sides. "
            "Untrained: the same jump if all tokens were equally probable, as before training. Ratio: probability with "
            "the token / without it. 95 % intervals: over other tokens near the cut-off, over other seeds, and over "
            "both. Least and most: over bandwidths. Rows with occurrences are frequency bands.",
            (
                "variant", "size", "model", "bandwidth", "band", "inside", "outside", "effect", "least", "most",
                "untrained", "low", "high", "seeds", "seed_low", "seed_high", "both_low", "both_high", "degrees",
                "ratio",
            ),
            by=("corpus",),
            files=_FILES,
            arranged=True,
        ),
        Print(
            "statistics",
            "The same estimate at placebo cut-offs on {corpus}, ranks where nothing happens. Windows of neighbouring "
            "cut-offs overlap.",
            (
                "variant", "size", "model", "cutoff", "bandwidth", "inside", "outside", "effect", "low", "high",
                "seed_low", "seed_high", "degrees",
            ),
            by=("corpus",),
            files=_FILES,
            folds_above=0,
            name="token_placebo_effects",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
TOKEN_EFFECTS_BY_SEED = TidyTable(
    "token_effects_by_seed",
    "a cut-off, bandwidth and frequency band, for one training of a model with a tokenizer",
    (
        *_HEAD,
        Column("seed", pl.Int64, "seed of the training; empty for a model without siblings"),
        *_KEYS,
        _EFFECT,
        _LOW,
        _HIGH,
        _ERROR,
        _DEGREES,
    ),
    maker=token_effects_by_seed,
    takes=("token_scores_by_seed", "bandwidth"),
    keys=(*KEY, "seed", "kind", "cutoff", "bandwidth", "band"),
    of_models=True,
)
TOKEN_PLACEBOS = TidyTable(
    "token_placebos",
    "a model with a tokenizer",
    (
        *_HEAD,
        _KEYS[2],
        Column("placebos", pl.Int64, "placebo cut-offs", "cut-offs"),
        Column("excluding", pl.Int64, "placebo cut-offs whose 95 % interval over tokens excludes 0, over all seeds",
               "cut-offs", "excluding 0"),
        Column("share", pl.Float64, "share of these; 0.05 is expected without an effect", SHARE, "share (%)", 1),
        Column("tests", pl.Int64, "placebo cut-offs of single trainings", "cut-offs", "of single seeds"),
        Column("excluding_by_seed", pl.Int64, "those whose interval excludes 0", "cut-offs",
               "excluding 0, single seeds"),
        Column("share_by_seed", pl.Float64, "share of these", SHARE, "share, single seeds (%)", 1),
        Column("largest", pl.Float64, "largest absolute effect at a placebo cut-off", BITS, "largest (bits)", 3),
        Column("effect", pl.Float64, "effect at the end of the vocabulary", BITS, "effect (bits)", 3),
        Column("larger", pl.Int64, "placebo cut-offs whose absolute effect is not below that one", "cut-offs",
               "not smaller"),
    ),
    maker=token_placebos,
    takes=("token_effects", "token_effects_by_seed"),
    keys=KEY,
    prints=(
        Print(
            "statistics",
            "Placebo cut-offs on {corpus}: the same estimate at ranks where nothing happens. Its 95 % interval should "
            "exclude 0 in about 5 % of them. A larger share means that a line does not fit the ranks, and the interval "
            "at the end of the vocabulary is too narrow, too. Windows of neighbouring cut-offs overlap.",
            by=("corpus",),
            files=_FILES,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
TOKEN_EFFECT_BINS = TidyTable(
    "token_effect_bins",
    "neighbouring ranks of a model with a tokenizer",
    (
        *_HEAD,
        Column("first", pl.Int64, "lowest rank, from the end of the vocabulary", "ranks"),
        Column("last", pl.Int64, "highest rank", "ranks"),
        Column("tokens", pl.Int64, "tokens with an occurrence", "tokens"),
        Column("outcome", pl.Float64, "mean log-probability of an occurrence, over these tokens and all seeds", BITS),
    ),
    maker=token_effect_bins,
    takes=("token_scores_by_seed", "bandwidth"),
    keys=(*KEY, "first"),
    prints=(
        Print(
            "statistics",
            "Tokens of {variant} around the end of a vocabulary of {size} tokens, under {model}, on the evaluation "
            "split of {corpus}. First: log-probability of a token's characters, averaged over neighbouring ranks, and "
            "lines through the ranks near the end of the vocabulary. The jump is the effect of being in the "
            "vocabulary. Second: the same estimate at placebo cut-offs, where nothing happens. 95 % intervals cover "
            "other tokens near the cut-off.",
            by=KEY,
            files=_FILES,
            name="token_effect",
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)
