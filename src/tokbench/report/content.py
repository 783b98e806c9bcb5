"""Content of a report: tidy frames of earlier stages, configuration and provenance."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.intrinsic.encoding_speed import ColdSpeed
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, join_some
from tokbench.statistics.comparisons.existing import EXISTING_TOKENIZERS
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD, different_size_tokenizers
from tokbench.statistics.undersized import below_nominal, undersized_vocabularies
from tokbench.tabulation import limits
from tokbench.tabulation.table import SHARE, TidyTable

if TYPE_CHECKING:
    from tokbench.report.own_text import OwnText

T = TypeVar("T")
_ROUNDED = 1e-9
"""Tolerance for rounding when shares are checked."""
BEST = "the best"
NOT_RUN = "The stage is switched off in the configuration or was not run."


@dataclass(frozen=True)
class ReportContent:
    """Content of a report. Absent parts are left out, and their sections give the reason.

    Attributes:
        title: title of the report.
        recipes: recipe of each variant as configured (phase: method or options), in the order of the configuration.
            The order determines each variant's colour and mark in every figure.
        configuration: text of the configuration file.
        provenance: versions, source revision, seconds, hardware; values may be mappings.
        declared: declarations of the tables that a report may show.
        frames: available tables by name, with the declared columns; an empty value has a reason.
        missing: reason why a table is missing, one sentence by name (default: none).
        preface: introductory paragraph by the author (default: empty).
        models: names of the models in the order of the configuration.
        seeds: common name and seed of models that differ only in their seed, see
            :func:`tokbench.statistics.accuracies.seeds.same_but_for_seed`.
        resources: names of the resources of gold data; in tables they take the place of a corpus.
        corpora: names of the corpora: those that vocabularies are built from first, then the others.
        built_from: names of the corpora that vocabularies are built from.
        baselines: variants that others are compared with, one for each corpus.
        speeds: cold encoding speed of each tokenizer, by corpus, size and variant; None if the text is too short.
            Speeds differ from run to run; only the scoreboard of the page shows them.
        findings: by corpus, lines on documents that were truncated, dropped, changed or duplicated in its preparation.
        own_text: box for a text of the reader; None if there is no tokenizer for it.
        splits: documents and bytes of each split, by corpus and split; None if unknown.
        finished: day on which the last tokenizer was built, as YYYY-MM-DD; empty if unknown.
        demonstration: True if all text is the embedded corpus (default: False).
        highlight: variant whose rows and marks are highlighted (default: none).

    Raises:
        TokbenchError: a frame lacks a declared column, or a share is not between 0 and 1.
    """

    title: str
    recipes: Mapping[str, Mapping[str, object]]
    configuration: str
    provenance: Mapping[str, object]
    declared: Sequence[TidyTable]
    frames: Mapping[str, pl.DataFrame]
    missing: Mapping[str, str] = field(default_factory=dict)
    preface: str = ""
    models: Sequence[str] = ()
    seeds: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    resources: Sequence[str] = ()
    corpora: Sequence[str] = ()
    built_from: Sequence[str] = ()
    baselines: Sequence[str] = ()
    speeds: Mapping[tuple[str, int, str], ColdSpeed | None] = field(default_factory=dict)
    findings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own_text: "OwnText | None" = None
    splits: Mapping[tuple[str, str], tuple[int | None, int | None]] = field(default_factory=dict)
    finished: str = ""
    demonstration: bool = False
    highlight: str = ""
    _parts: dict[str, pl.DataFrame | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for table in self.declared:
            if table.name in self.frames:
                _check(table, self.frames[table.name])

    @cached_property
    def existing(self) -> pl.DataFrame | None:
        """Comparisons of external tokenizers at their own sizes, on all documents and by language.

        None without external tokenizers, or with a single one that is compared with built tokenizers of its size.
        """
        frame = self.frames.get(EXISTING_TOKENIZERS.name)
        if frame is None or (frame["variant"].n_unique() < 2 and not self.at_own_size):
            return None
        return frame

    @cached_property
    def at_own_size(self) -> Set[str]:
        """External tokenizers that are compared with other external tokenizers only, because no built tokenizer has
        their size."""
        frame, scores = self.frames.get(EXISTING_TOKENIZERS.name), self.frames.get(SCOREBOARD.name)
        if frame is None or scores is None:
            return set()
        return set(different_size_tokenizers(dict(frame.select("variant", "size").iter_rows()), scores))

    @cached_property
    def scoreboard(self) -> pl.DataFrame | None:
        """Scoreboard of tokenizers that are compared at one size; None if there is no table."""
        frame = self.frames.get(SCOREBOARD.name)
        return frame.filter(~pl.col("variant").is_in(list(self.at_own_size))) if frame is not None else None

    @property
    def variants(self) -> list[str]:
        """Variants in the order of the configuration."""
        return list(self.recipes)

    @property
    def has_many_variants(self) -> bool:
        """True if there are too many variants to compare every pair and to draw or print all."""
        return len(self.recipes) > limits.MAX_PAIRWISE_VARIANTS

    @cached_property
    def reading_order(self) -> list[str]:
        """Variants in the order of reading.

        The order is that of the configuration. If variants are many, it is the baselines, then the others by their
        best rank with any model and suite.
        """
        ranks = self.frames.get("ranks")
        if not self.has_many_variants or ranks is None:
            return (
                [*self.baselines, *(variant for variant in self.variants if variant not in self.baselines)]
                if self.has_many_variants
                else self.variants
            )
        best = dict(ranks.drop_nulls("rank").group_by("variant").agg(pl.col("rank").min()).iter_rows())
        last = len(self.recipes) + 1
        others = sorted(
            set(self.variants) - set(self.baselines),
            key=lambda variant: (best.get(variant, last), self._places[variant]),
        )
        return [*self.baselines, *others]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {variant: index for index, variant in enumerate(self.variants)}

    @cached_property
    def pretokenizers(self) -> dict[str, str]:
        """Pre-tokenizer of each variant if known, the baselines first."""
        imported = self.frames.get("imported")
        known = {} if imported is None else dict(imported.select("variant", "pretokenization").iter_rows())
        known |= {
            name: str(recipe["pretokenization"]) for name, recipe in self.recipes.items() if "pretokenization" in recipe
        }
        return {name: known[name] for name in dict.fromkeys([*self.baselines, *self.variants]) if name in known}

    @cached_property
    def several_pretokenizers(self) -> bool:
        """True if the variants have different pre-tokenizers. Tables and figures then name them."""
        return len({self.pretokenizers.get(name) for name in self.variants}) > 1

    def place_of_pretokenizer(self, name: str | None) -> tuple[int, str]:
        """Return the sort key of a pre-tokenizer: the baselines' first, then in the order of the configuration."""
        known = list(dict.fromkeys(self.pretokenizers.values()))
        return (known.index(name) if name in known else len(known), name or "")

    def label(self, variant: str) -> str:
        """Return a variant's name in figures and sentences, with its pre-tokenizer if there are several."""
        return f"{variant} ({self.pretokenizer(variant)})" if self.several_pretokenizers else variant

    def by_label(self, of_variants: Mapping[str, T]) -> dict[str, T]:
        """Return values by label of the variant, see :meth:`label`."""
        return {self.label(variant): value for variant, value in of_variants.items()}

    def by_label_and_size(self, values: Mapping[tuple[str, int], T]) -> dict[tuple[str, int], T]:
        """Return values by label and size, from values by variant and size."""
        return {(self.label(variant), size): value for (variant, size), value in values.items()}

    @property
    def bracket_note(self) -> str:
        """Sentence for captions on labels with a pre-tokenizer; empty if all variants have the same one."""
        return " In brackets: the pre-tokenizer." * self.several_pretokenizers

    def pretokenizer_notes(self, *, ranked: bool) -> list[str]:
        """Return a note for a table of variants with several pre-tokenizers; empty if all have the same one.

        Args:
            ranked: True if the table ranks variants across pre-tokenizers.
        """
        groups: dict[str, list[str]] = {}
        for variant in self.reading_order:
            groups.setdefault(self.pretokenizer(variant), []).append(variant)
        sentence = "; ".join(f"{name} for {join_some(variants)}" for name, variants in groups.items())
        what = "Bold numbers and ranks compare across pre-tokenizers" if ranked else "The pre-tokenizers differ"
        return [f"{what}: {sentence}."] * self.several_pretokenizers

    def pretokenizer(self, variant: str) -> str:
        """Return a variant's pre-tokenizer in words."""
        return self.pretokenizers.get(variant, UNKNOWN_PRETOKENIZER)

    @cached_property
    def undersized(self) -> Set[tuple[str, int]]:
        """Variant and size of undersized vocabularies (fewer tokens than others of their size). They are not ranked."""
        measured = self.frames.get("intrinsic")
        return set() if measured is None else undersized_vocabularies(measured)

    @cached_property
    def smaller_than_requested(self) -> Set[tuple[str, int]]:
        """Variant and size of vocabularies with fewer tokens than requested."""
        measured = self.frames.get("intrinsic")
        return set() if measured is None else below_nominal(measured)

    def full_size_values(self, values: Mapping[tuple[str, int], float]) -> dict[tuple[str, int], float]:
        """Return values by variant and size without those in :attr:`undersized`; all values if no others remain."""
        kept = {key: value for key, value in values.items() if key not in self.undersized}
        return kept or dict(values)

    def unranked_cells(
        self, cells: Mapping[tuple[int, str], tuple[str, int]]
    ) -> tuple[frozenset[tuple[int, str]], list[str]]:
        """Return the cells of undersized vocabularies, which are not ranked, and a note on them.

        Args:
            cells: variant and size of each cell that could be the best, by (row index, column name).
        """
        undersized = {place: key for place, key in cells.items() if key in self.undersized}
        sentences = [f"{variant} at {size:,}" for variant, size in dict.fromkeys(undersized.values())]
        return frozenset(undersized), [
            f"Not ranked (fewer tokens than others of their size): {join_some(sentences)}."
        ] * bool(sentences)

    def drawn_variants(self, order: Sequence[str]) -> list[str]:
        """Return the variants that a figure shows: all, or of many the first and the baselines."""
        return select_drawn(order, self.baselines)

    def omission_note(self, order: Sequence[str], *, ranked: bool = False) -> str:
        """Return a sentence for captions on variants that a figure does not show; empty if it shows all.

        Args:
            order: all variants.
            ranked: True if the order is by the values of the figure, False if it is the order of reading (default).
        """
        by_rank = "the baseline and those with the highest rank for any model"
        unranked = (
            by_rank
            if "ranks" in self.frames and self.frames["ranks"]["rank"].count()
            else "the first in the configuration"
        )
        return omission_note(order, self.baselines, BEST if ranked else unranked)

    def sort_variants(self, frame: pl.DataFrame, order: Sequence[str] = ()) -> pl.DataFrame:
        """Return rows sorted by variant, or by pair of variants; unchanged if variants are few.

        A pair is sorted by the variant that is not a reference. References are the first of the order and the
        baselines.

        Args:
            frame: frame with a column ``variant``, or ``a`` and ``b``.
            order: order of the variants (default: :attr:`reading_order`).
        """
        keys = [name for name in ("variant", "a", "b") if name in frame.columns]
        if not self.has_many_variants or not keys:
            return frame
        names = list(order) or self.reading_order
        place = {variant: index for index, variant in enumerate(names)}
        at = {key: pl.col(key).replace_strict(place, default=len(place), return_dtype=pl.Int64) for key in keys}
        if keys == ["variant"]:
            return frame.sort(at["variant"], maintain_order=True)
        references = [*self.baselines, *names[:1]]
        other = [pl.when(~pl.col(key).is_in(references)).then(at[key]).otherwise(-1) for key in ("a", "b")]
        return frame.sort(pl.max_horizontal(other), at["a"], at["b"], maintain_order=True)

    def corpora_of(self, frame: pl.DataFrame) -> list[str]:
        """Return the corpora of a frame in the order of reading; resources of gold data come last, by name."""
        return sorted(frame["corpus"].unique().drop_nulls().to_list(), key=self.place_of_corpus)

    def place_of_corpus(self, name: str) -> tuple[int, str]:
        """Return the sort key of a corpus."""
        known = list(self.corpora)
        return (known.index(name) if name in known else len(known), name)

    def sort_rows(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return rows that begin with a variant in the order of reading; variants that are not configured come last."""
        place = {variant: index for index, variant in enumerate(self.reading_order)}
        return sorted(rows, key=lambda row: (place.get(row[0], len(place)), row))

    def part(self, name: str) -> pl.DataFrame | None:
        """Return a table with corpora in the order of reading and models in that of the configuration.

        Returns:
            None if the table is absent or has no rows.
        """
        if name not in self._parts:
            self._parts[name] = self._arranged(name)
        return self._parts[name]

    def _arranged(self, name: str) -> pl.DataFrame | None:
        frame = self.frames.get(name)
        if frame is None or frame.is_empty():
            return None
        made, keys = frame.lazy(), []
        for column, order in (("model", self.models), ("corpus", self.corpora)):
            if column in frame.columns:
                place = {name: number for number, name in enumerate(order)}
                keys.append(pl.col(column).replace_strict(place, default=len(place), return_dtype=pl.Int64))
        if "corpus" in frame.columns:
            made = made.with_columns(pl.col("corpus").fill_null("").replace("", "an unnamed corpus"))
        return (made.sort(keys, maintain_order=True) if keys else made).collect()

    def why_missing(self, name: str) -> str:
        """Return one sentence with the reason why a table is missing."""
        return self.missing.get(name, NOT_RUN)


def select_drawn(order: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """Return the variants of an order that a figure shows: all, or of many the first and the baselines."""
    if len(order) <= limits.MAX_PAIRWISE_VARIANTS:
        return list(order)
    return [*order[: limits.MAX_DRAWN], *(variant for variant in order[limits.MAX_DRAWN :] if variant in baselines)]


def omission_note(order: Sequence[str], baselines: Sequence[str], which: str) -> str:
    """Return a sentence for captions on variants that a figure does not show; empty if it shows all.

    Args:
        order: all variants.
        baselines: variants that are always shown.
        which: description of the first of the order.
    """
    shown = select_drawn(order, baselines)
    if len(shown) == len(order):
        return ""
    which += " and the baseline" * (which == BEST and len(shown) > limits.MAX_DRAWN)
    return f" Shown: {len(shown)} of {len(order):,} variants, {which}; the source has all."


def _check(table: TidyTable, frame: pl.DataFrame) -> None:
    absent = [column.name for column in table.columns if column.name not in frame.columns]
    if absent:
        raise TokbenchError(
            f"{table.name}: no column {', '.join(absent)}; rebuild the table with the stage that writes it"
        )
    for column in (column for column in table.columns if column.unit == SHARE):
        shares = frame[column.name].cast(pl.Float64)
        outside = shares.filter((shares < -_ROUNDED) | (shares > 1 + _ROUNDED))
        if not outside.is_empty():
            raise TokbenchError(
                f"{table.name}.{column.name}: {outside[0]} is not a share between 0 and 1; divide percentages by 100"
            )
