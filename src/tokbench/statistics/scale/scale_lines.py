"""Language models that differ in one scale: budget, size or checkpoint, with their bits and costs.

A line is a set of models on which one scale varies and all other options are equal. On a line of budgets, recipes
differ only in the value of their budget. On a line of sizes, they differ only in their shape. Models that differ in
both are on no common line. Options that are usually tuned with the scale, such as the learning rate, may differ; they
are named. Checkpoints of one training are a line of their own, because one learning-rate schedule covers them all.

Arithmetic and memory are those of :mod:`tokbench.costs.transformer`, with attention at the model's length.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.costs.transformer import Transformer, embedding_rows, key_width, llama_layer_weights, mpt_layer_weights
from tokbench.statistics.accuracies.seeds import same_but_for_seed
from tokbench.statistics.comparisons.model_bits import DOCUMENTS_EACH
from tokbench.statistics.significance.estimate import DOCUMENTS
from tokbench.tabulation.columns import CORPUS, SIZE, SUITE
from tokbench.tabulation.table import Column

Scale = Literal["budget", "size", "checkpoint"]
Recipe = Mapping[str, Any]
Bits = dict[int | None, NDArray[np.float64]]
"""float64 [documents], bits of every document, by seed."""

SHAPE = ("d_model", "n_heads", "n_layers", "kv_heads", "feed_forward")
"""Options that determine the size of a model."""
BUDGETS = {"batches": "tokens", "epochs": "text", "text_bytes": "text", "flops": "arithmetic"}
"""Budgets, and the quantity that each makes equal for all tokenizers."""
TUNED = ("learning_rate", "amplitude", "warmup", "warmup_batches", "weight_decay")
"""Options that may differ along a line, because they are often tuned for each scale."""
WITHOUT_EFFECT = (
    "seed", "microbatch", "device", "cpu_threads", "attn_impl", "loss_fn", "checkpoint_every", "fsdp", "resources",
    "evaluate_at",
)  # fmt: skip
"""Options that change a model at most by rounding, and the seed."""
AXES: Mapping[Scale, tuple[str, ...]] = {
    "budget": ("text_bytes", "flops"),
    "size": ("parameters", "parameters_without_embeddings", "flops", "forward_flops_per_byte", "cache_bytes_per_byte"),
    "checkpoint": ("text_bytes", "flops"),
}
"""Quantities that bits per byte are fitted over, for each scale that varies."""
EQUAL = 1.05
"""Quantities whose largest value is below this multiple of the smallest count as equal."""
LINE = (
    CORPUS,
    SUITE,
    SIZE,
    Column("varies", pl.String, "scale that varies: budget, size, or checkpoint of one training"),
    Column("models", pl.String, "models of the line, from the smallest scale to the largest"),
    Column("equal", pl.String, "quantities that are equal on the line"),
    Column("differs", pl.String, "options that differ on the line"),
)
"""Columns that identify a line on a corpus and suite at a vocabulary size."""
AXIS = Column(
    "axis", pl.String, "quantity: text_bytes (text of the training), flops (arithmetic of the training), parameters, "
    "parameters_without_embeddings, forward_flops_per_byte or cache_bytes_per_byte (inference, per byte of text)",
)  # fmt: skip
SEEDS_OF = Column("seeds", pl.Int64, "seeds that all these models have", "seeds")
DOCUMENTS_OF = Column("documents", pl.Int64, "documents, or units, that all models were tested on", "documents")
LEVEL = "bits per byte"
"""Unit of bits per byte in tables."""
PETA = 1e15
PLACE = ["document", "language", "bytes"]


@dataclass(frozen=True, slots=True)
class ScaleLine:
    """Models that differ in one scale.

    Attributes:
        varies: the scale that varies.
        models: common names of the models over seeds, from the smallest scale to the largest.
        equal: quantities that are equal.
        differs: options whose values differ.
    """

    varies: Scale
    models: tuple[str, ...]
    equal: str
    differs: tuple[str, ...]


@dataclass(frozen=True)
class ScaleGroup:
    """Bits and costs of the models of a line on one corpus and suite, at one vocabulary size.

    Attributes:
        line: the line.
        corpus, suite, size: evaluation corpus, suite and vocabulary size.
        bits: bits of every document by variant, model and seed. A seed that lacks a document is left out.
        bytes: float64 [documents], bytes of the documents; a single 1 if bits are known only for the complete text.
        costs: quantities by variant and model, see :func:`costs_of`. Unknown ones are absent.
        unit: name of the documents, if they are other units (default: "documents").
        tokens: float64 [documents], tokens of each document by variant (default: none are known).
    """

    line: ScaleLine
    corpus: str
    suite: str
    size: int
    bits: Mapping[str, Mapping[str, Bits]]
    bytes: NDArray[np.float64]
    costs: Mapping[tuple[str, str], Mapping[str, float]]
    unit: str = DOCUMENTS
    tokens: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def head(self) -> dict[str, Any]:
        """Values of the columns :data:`LINE` by name."""
        return dict(zip((column.name for column in LINE), self.key, strict=True))

    @property
    def key(self) -> tuple[Any, ...]:
        """Values of the columns :data:`LINE`."""
        line = self.line
        return (
            self.corpus, self.suite, self.size, line.varies, ", ".join(line.models), line.equal, ", ".join(line.differs)
        )  # fmt: skip

    def on(self, axis: str, variant: str) -> dict[str, float]:
        """Return the values of a quantity by model, for the models of a variant, in the order of the line."""
        known = (
            (model, self.costs[variant, model].get(axis)) for model in self.line.models if model in self.of(variant)
        )
        return {model: value for model, value in known if value is not None}

    def of(self, variant: str) -> Mapping[str, Bits]:
        """Return the bits of a variant by model and seed."""
        return self.bits.get(variant, {})

    def varying(self, axis: str) -> bool:
        """Return True if a quantity has two values or more on the line, for some variant."""
        return any(
            len(x := self.on(axis, variant)) > 1 and max(x.values()) >= EQUAL * min(x.values()) for variant in self.bits
        )

    def seeds(self, variants: Sequence[str], models: Sequence[str]) -> list[int | None]:
        """Return the seeds that all of some models have, with each of some variants."""
        by_run = [self.bits[variant][model] for variant in variants for model in models]
        return [seed for seed in by_run[0] if all(seed in of_run for of_run in by_run)]

    def stack(self, variant: str, model: str, seeds: Sequence[int | None]) -> NDArray[np.float64]:
        """Return float64 [seeds, documents], bits of a variant's model; the mean over all seeds if none is named."""
        bits = self.bits[variant][model]
        if not seeds:
            return np.array(
                [
                    [
                        fsum(column) / len(bits)
                        for column in zip(*(of_seed.tolist() for of_seed in bits.values()), strict=True)
                    ]
                ]
            )
        return np.stack([bits[seed] for seed in seeds])


def layer_weights(recipe: Recipe) -> int:
    """Return the number of weights in the matrices of a layer."""
    width = int(recipe["d_model"])
    if recipe.get("architecture", "mpt") == "mpt":
        return mpt_layer_weights(width, int(recipe.get("expansion_ratio", 4)))
    return llama_layer_weights(width, keys_of(recipe), int(recipe["feed_forward"]))


def keys_of(recipe: Recipe) -> int:
    """Return the numbers of the keys of a token in one layer."""
    heads = int(recipe["n_heads"])
    return key_width(int(recipe["d_model"]), heads, int(recipe.get("kv_heads") or heads))


def transformer_of(recipe: Recipe, vocabulary: int) -> Transformer:
    """Return the shape of a model with a tokenizer of ``vocabulary`` tokens, without special ones."""
    layers, rows = int(recipe["n_layers"]), embedding_rows(vocabulary, int(recipe["vocab_multiple"]))
    weights, positions = layers * layer_weights(recipe), int(recipe["max_seq_len"])
    return Transformer(layers, int(recipe["d_model"]), weights, keys_of(recipe), positions, rows)


def costs_of(recipe: Recipe, vocabulary: int, tokens_per_byte: float | None) -> dict[str, float]:
    """Return parameters and inference costs of a model with a tokenizer.

    Args:
        recipe: all options of the model.
        vocabulary: tokens of the tokenizer, without special ones.
        tokens_per_byte: tokens per byte of text; None if unknown.

    Returns:
        ``parameters``, and ``parameters_without_embeddings``: without the embedding matrix, which is also that of the
        softmax. ``forward_flops_per_byte``: operations of the forward pass per byte of text, with the softmax and
        attention over the model's length. ``cache_bytes_per_byte``: bytes of keys and values per byte of text, in the
        model's precision. ``tokens_per_byte``. The last three are absent if ``tokens_per_byte`` is unknown.
    """
    shape = transformer_of(recipe, vocabulary)
    rest = shape.layer_weights + 2 * shape.layers * shape.width + shape.width  # Two norms in a layer, and the last one.
    costs = {"parameters": float(shape.rows * shape.width + rest), "parameters_without_embeddings": float(rest)}
    if tokens_per_byte is None:
        return costs
    return costs | {
        "forward_flops_per_byte": shape.forward_flops * tokens_per_byte,
        "cache_bytes_per_byte": shape.cache_bytes(str(recipe.get("precision", "bf16"))) * tokens_per_byte,
        "tokens_per_byte": tokens_per_byte,
    }


def without_seeds(recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Return the recipes by common name of the models that differ only in their seed."""
    common = same_but_for_seed(recipes)
    return {common[name][0] if name in common else name: recipe for name, recipe in recipes.items()}


def lines_of(recipes: Mapping[str, Recipe]) -> list[ScaleLine]:
    """Return the lines of budgets and of sizes among models, and those of checkpoints.

    Args:
        recipes: all options by common name, see :func:`without_seeds`. Recipes without a shape or a budget are ignored.

    Returns:
        Lines with two scales or more, in the order of the recipes; lines of checkpoints have a model with a share.
    """
    known = {
        name: recipe
        for name, recipe in recipes.items()
        if budget_of(recipe)[0] and {"d_model", "n_layers"} <= recipe.keys()
    }
    lines: list[ScaleLine] = []
    for varies in ("budget", "size"):
        for names in _group(known, varies):
            ordered = sorted(names, key=lambda name: _scale(known[name], varies))
            if _scale(known[ordered[0]], varies)[0] == _scale(known[ordered[-1]], varies)[0]:
                continue
            kind = BUDGETS[budget_of(known[names[0]])[0]]
            keys = dict.fromkeys(key for name in ordered for key in known[name] if key not in WITHOUT_EFFECT)
            differs = tuple(key for key in keys if len({repr(known[name].get(key)) for name in ordered}) > 1)
            lines.append(ScaleLine(varies, tuple(ordered), "model" if varies == "budget" else kind, differs))
    for name, recipe in known.items():
        shares = [*recipe.get("evaluate_at", ()), 1.0]
        if len(shares) > 1:
            lines.append(ScaleLine("checkpoint", tuple(checkpoint(name, share) for share in shares), "training", ()))
    return lines


def checkpoint(model: str, share: float) -> str:
    """Return the name of a checkpoint of a model in tables."""
    return f"{model} at {share:g}"


def budget_of(recipe: Recipe) -> tuple[str, float]:
    """Return the budget of a recipe as its key and value; an empty key and 0 if it has none."""
    return next(((key, float(recipe[key])) for key in BUDGETS if recipe.get(key) is not None), ("", 0.0))


def _group(recipes: Mapping[str, Recipe], varies: str) -> Iterator[list[str]]:
    """Yield the models of each line. If a scale occurs twice, models must also agree in the options of TUNED."""
    for loose in _group_by_options(recipes, list(recipes), varies, TUNED):
        scales = [repr(_values(recipes[name], varies)) for name in loose]
        parts = [loose] if len(set(scales)) == len(scales) else _group_by_options(recipes, loose, varies, ())
        yield from (names for names in parts if len(names) > 1)


def _group_by_options(
    recipes: Mapping[str, Recipe], names: Sequence[str], varies: str, ignored: Sequence[str]
) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        recipe = recipes[name]
        left_out = {*ignored, *WITHOUT_EFFECT, *(BUDGETS if varies == "budget" else SHAPE)}
        rest = sorted((key, value) for key, value in recipe.items() if key not in left_out and value is not None)
        groups.setdefault(repr((rest, budget_of(recipe)[0])), []).append(name)
    return list(groups.values())


def _values(recipe: Recipe, varies: str) -> tuple[Any, ...]:
    return budget_of(recipe) if varies == "budget" else tuple(recipe.get(key) for key in SHAPE)


def _scale(recipe: Recipe, varies: str) -> tuple[float, ...]:
    """Return the key that sorts the models of a line."""
    if varies == "budget":
        return (budget_of(recipe)[1],)
    return (int(recipe["n_layers"]) * layer_weights(recipe), int(recipe["d_model"]))


def scale_groups(
    bits_by_seed: pl.DataFrame,
    convergence: pl.DataFrame,
    trained_on: pl.DataFrame,
    recipes: Mapping[str, Recipe],
    vocabularies: Mapping[tuple[str, int], int],
    tokens_per_byte: Mapping[tuple[str, int, str], float],
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
    tokens: pl.DataFrame | None = None,
) -> list[ScaleGroup]:
    """Return the models of every line with their bits and costs; empty if no two models differ only in scale.

    Args:
        bits_by_seed: bits of every document with a column ``seed``, see
            :func:`tokbench.statistics.comparisons.model_bits.compare_model_bits`.
        convergence: table ``convergence`` with common names and seeds.
        trained_on: table ``trained_on`` with common names and seeds.
        recipes: all options by common name.
        vocabularies: tokens by variant and vocabulary size; the nominal size is used for others.
        tokens_per_byte: tokens per byte of the evaluation split by variant, size and corpus. That of the training text
            is used for others.
        unit_names: name of the units by corpus (default: documents).
        tokens: table ``tokens_by_document`` (default: none).
    """
    columns = ("text_bytes", "tokens", "petaflop", "batches")
    # Text and arithmetic of the trainings, means over seeds.
    means = trained_on.group_by("variant", "size", "model").agg(pl.col(*columns).mean())
    read = {(row["variant"], row["size"], row["model"]): row for row in means.iter_rows(named=True)}

    def costs(corpus: str, variant: str, size: int, model: str, share: float = 1.0) -> dict[str, float]:
        totals = read.get((variant, size, model), dict.fromkeys(columns))
        rate = tokens_per_byte.get((variant, size, corpus))
        if rate is None and totals["tokens"] and totals["text_bytes"]:
            rate = totals["tokens"] / totals["text_bytes"]
        known = {} if totals["text_bytes"] is None else {"text_bytes": share * totals["text_bytes"]}
        known |= {} if totals["petaflop"] is None else {"flops": share * totals["petaflop"] * PETA}
        return known | costs_of(recipes[model], vocabularies.get((variant, size), size), rate)

    groups: list[ScaleGroup] = []
    # Checkpoints of one training are a line of their own.
    for line in lines_of(recipes):
        if line.varies == "checkpoint":
            groups += _checkpoints(line, bits_by_seed, convergence, costs)
            continue
        part = bits_by_seed.filter(pl.col("model").is_in(line.models)).sort("corpus", "suite", "size", "variant")
        for (corpus, suite, size), rows in part.group_by("corpus", "suite", "size", maintain_order=True):
            if rows["model"].n_unique() < 2:
                continue
            # Bits on the documents that all models have, with the costs of each model.
            bits, places = _bits(rows)
            pairs = [(variant, model) for variant, models in bits.items() for model in models]
            pair_costs = {pair: costs(str(corpus), pair[0], int(str(size)), pair[1]) for pair in pairs}
            if pairs:
                unit = unit_names.get(str(corpus), DOCUMENTS)
                sizes = places["bytes"].to_numpy().astype(np.float64)
                counted = _tokens(tokens, places, str(corpus), int(str(size)), list(bits))
                groups.append(
                    ScaleGroup(line, str(corpus), str(suite), int(str(size)), bits, sizes, pair_costs, unit, counted)
                )
    return groups


def _tokens(
    tokens: pl.DataFrame | None, places: pl.DataFrame, corpus: str, size: int, variants: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Return the tokens of documents by variant; variants whose tokens are not known for every document are left out.

    Tokens of more than 1,000 documents are known for groups of documents only.
    """
    counted: dict[str, NDArray[np.float64]] = {}
    for variant in () if tokens is None else variants:
        part = tokens.filter(variant=variant, size=size, corpus=corpus).select("document", "tokens")  # type: ignore[union-attr]
        lined_up = places.join(part, on="document", how="inner", maintain_order="left")
        if len(lined_up) == len(places) and lined_up["tokens"].sum():
            counted[variant] = lined_up["tokens"].to_numpy().astype(np.float64)
    return counted


def _bits(rows: pl.DataFrame) -> tuple[dict[str, dict[str, Bits]], pl.DataFrame]:
    """Return the bits of the documents that all models have, by variant, model and seed, and :data:`PLACE` of these."""
    runs = rows.select("variant", "model").n_unique()
    models = rows.group_by(PLACE).agg(pl.struct("variant", "model").n_unique().alias("models"))
    places = models.filter(pl.col("models") == runs, pl.col("bytes") > 0).sort(PLACE).select(PLACE)
    bits: dict[str, dict[str, Bits]] = {}
    for (variant, model, seed), part in rows.group_by("variant", "model", "seed", maintain_order=True):
        lined_up = places.join(part, on=PLACE, how="inner", maintain_order="left")
        if len(lined_up) == len(places) and len(places):
            bits.setdefault(str(variant), {}).setdefault(str(model), {})[seed] = lined_up["bits"].to_numpy()
    return bits, places


def _checkpoints(
    line: ScaleLine, bits_by_seed: pl.DataFrame, convergence: pl.DataFrame, costs: Any
) -> Iterator[ScaleGroup]:
    """Yield the checkpoints of a training on each suite and vocabulary size; they have bits of the complete text."""
    names = {name: float(name.rpartition(" at ")[2]) for name in line.models}
    model = line.models[0].rpartition(" at ")[0]
    corpora = dict(bits_by_seed.filter(model=model).select("suite", "corpus").unique().iter_rows())
    rows = convergence.filter(pl.col("model") == model, pl.col("suite").is_in(list(corpora))).drop_nulls(
        "bits_per_byte"
    )
    for (suite, size), part in rows.sort("suite", "size", "variant").group_by("suite", "size", maintain_order=True):
        bits: dict[str, dict[str, Bits]] = {}
        checkpoint_costs = {}
        for row in part.iter_rows(named=True):
            name = next((name for name, share in names.items() if share == row["share"]), None)
            if name is not None:
                of_model = bits.setdefault(row["variant"], {}).setdefault(name, {})
                of_model[row["seed"]] = np.array([row["bits_per_byte"]])
                checkpoint_costs[row["variant"], name] = costs(
                    corpora[suite], row["variant"], row["size"], model, row["share"]
                )
        if any(len(models) > 1 for models in bits.values()):
            yield ScaleGroup(line, corpora[suite], str(suite), int(str(size)), bits, np.ones(1), checkpoint_costs)
