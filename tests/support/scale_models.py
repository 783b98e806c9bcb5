"""Simulated models that differ in one scale, whose bits per byte follow a given law."""

from collections.abc import Callable, Iterable, Mapping
from math import exp
from typing import Any

import numpy as np
import polars as pl

from tokbench.models.pretraining.options import PRESETS
from tokbench.statistics.scale.scale_lines import ScaleGroup, costs_of, scale_groups, without_seeds
from tokbench.tabulation.documents import DOCUMENT_BITS, TOKENS_BY_DOCUMENT
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.table import TidyTable
from tokbench.tabulation.training import CONVERGENCE, TRAINED_ON

SMALL = PRESETS["tiny"].recipe() | {"batches": None, "text_bytes": 100_000}
Law = Callable[[float], float]
RATES = {"a": 0.25, "b": 0.3, "c": 0.35, "d": 0.4}
"""Tokens per byte."""


def recipe(**options: Any) -> dict[str, Any]:
    """Return a small model with other options."""
    return SMALL | options


def budgets(*sizes: int, seeds: Iterable[int] = (1, 2, 3), **options: Any) -> dict[str, dict[str, Any]]:
    """Return models that differ in bytes of text and seed."""
    return {f"m{size}_{seed}": recipe(text_bytes=size, seed=seed, **options) for size in sizes for seed in seeds}


def groups(
    models: Mapping[str, Mapping[str, Any]],
    laws: Mapping[str, Law],
    *,
    documents: int = 8,
    noise: float = 0.0,
    over: str = "text_bytes",
    seed: int = 0,
    along: pl.DataFrame | None = None,
    token_noise: float | None = None,
) -> tuple[list[ScaleGroup], pl.DataFrame]:
    """Return the lines of models whose bits per byte follow a law of a quantity, and the bits by seed.

    With ``token_noise``, tokens per byte vary between documents with this deviation of their logarithm.
    """
    rng = np.random.default_rng(seed)
    recipes = without_seeds(models)
    unseeded = {repr({**of, "seed": 0}): name for name, of in recipes.items()}
    common = {name: unseeded[repr({**of, "seed": 0})] for name, of in models.items()}
    bits, read = [], []
    level = rng.normal(0, 0.1, documents)
    for name, of in models.items():
        for variant, law in laws.items():
            x = of["text_bytes"] if over == "text_bytes" else costs_of(of, 1024, RATES[variant])[over]
            run = rng.normal(0, noise)
            for document in range(documents):
                size = 1000 + 100 * document
                value = law(float(x)) * exp(level[document] + run + rng.normal(0, noise))
                bits.append(
                    (common[name], variant, 1024, "s", "books", document, "", size, size * value, 0, of["seed"])
                )
            text = of.get("text_bytes") or 100_000
            tokens = int(text * RATES[variant])
            flops = 3 * costs_of(of, 1024, RATES[variant])["forward_flops_per_byte"] * text
            read.append((variant, 1024, common[name], 5, text, tokens, 5, 5, flops / 1e15, of["seed"]))
    by_seed = pl.DataFrame(bits, {**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")
    trained = pl.DataFrame(read, {**TRAINED_ON.schema, "seed": pl.Int64}, orient="row")
    none = pl.DataFrame(schema={**CONVERGENCE.schema, "seed": pl.Int64})
    along = none if along is None else along
    if token_noise is None:
        return scale_groups(by_seed, along, trained, recipes, {}, {}), by_seed
    sizes = [1000 + 100 * document for document in range(documents)]
    counts = [
        (variant, 1024, "books", document, 1, size, round(size * RATES[variant] * exp(rng.normal(0, token_noise))))
        for variant in laws
        for document, size in enumerate(sizes)
    ]
    by_document = pl.DataFrame(counts, TOKENS_BY_DOCUMENT.schema, orient="row")
    sums = by_document.group_by("variant").agg(pl.col("tokens").sum() / pl.col("bytes").sum())
    rates = {(variant, 1024, "books"): rate for variant, rate in sums.iter_rows()}
    return scale_groups(by_seed, along, trained, recipes, {}, rates, tokens=by_document), by_seed


def power(a: float, b: float) -> Law:
    return lambda x: a * x**-b


def simulated_tables(models: Mapping[str, Mapping[str, Any]], levels: Mapping[str, float]) -> dict[str, pl.DataFrame]:
    """Return tables of a run whose bits per byte are a level times bytes of text to the power of -0.16.

    Args:
        models: recipes by configured name.
        levels: level by variant, which is also a key of :data:`RATES`.
    """
    rng = np.random.default_rng(1)
    sizes = [1000 + 100 * document for document in range(8)]
    bits: list[tuple[Any, ...]] = []
    read: list[tuple[Any, ...]] = []
    tokens: list[tuple[Any, ...]] = []
    measured: list[tuple[Any, ...]] = []
    for variant, level in levels.items():
        measured.append((variant, 1024, "books", "", "vocabulary_size", "tokens", 1024.0, 1, None))
        for document, size in enumerate(sizes):
            count = round(size * RATES[variant] * exp(rng.normal(0, 0.02)))
            tokens.append((variant, 1024, "books", document, 1, size, count))
        for name, of in models.items():
            text = of["text_bytes"]
            flops = 3 * costs_of(of, 1024, RATES[variant])["forward_flops_per_byte"] * text
            read.append((variant, 1024, name, 5, text, int(text * RATES[variant]), 5, 5, flops / 1e15))
            for document, size in enumerate(sizes):
                value = level * text**-0.16 * exp(rng.normal(0, 0.01))
                bits.append((name, variant, 1024, "s", "books", document, "", size, size * value, 0))
    made: dict[TidyTable, list[tuple[Any, ...]]] = {
        DOCUMENT_BITS: bits,
        TRAINED_ON: read,
        TOKENS_BY_DOCUMENT: tokens,
        INTRINSIC: measured,
    }
    return {table.name: pl.DataFrame(rows, table.schema, orient="row") for table, rows in made.items()}
