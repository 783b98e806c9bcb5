"""What a report is made of: the tidy frames that earlier stages wrote, the configuration, the provenance.

From the files that the earlier stages wrote to what a report shows.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import yaml

from tokbench.config.experiment import Experiment
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.intrinsic.encoding_speed import ColdSpeed
from tokbench.io.provenance import provenance
from tokbench.io.tables import read_frame
from tokbench.pretokenization import pretokenization_of
from tokbench.report.wording import join_some
from tokbench.statistics.equal_size import smaller_than_asked, undersized_vocabularies
from tokbench.statistics.seeds import same_but_for_seed
from tokbench.tabulation import columns
from tokbench.tabulation.table import SHARE, TidyTable, tables_of

if TYPE_CHECKING:
    from tokbench.report.own_text import OwnText

T = TypeVar("T")
_ROUNDED = 1e-9
"""What rounding may add to a share."""
BEST = "the best"
UNKNOWN_PRETOKENIZER = "not known"
NOT_RUN = "This run gave no such table: its stage is switched off in the configuration or has not been run."


@dataclass(frozen=True)
class ReportContent:
    """Everything a report shows. A part that is None is left out, and its section says why.

    Attributes:
        title: the experiment's name.
        models: names of the models in the order of the configuration.
        seeds: common name and seed of models that differ only in their seed, see
            :func:`tokbench.statistics.seeds.same_but_for_seed`.
        resources: names of the resources of gold data; in tables they stand in the place of a corpus.
        preface: a paragraph of the author's own, above everything else.
        corpora: names of the corpora in the order in which a reader meets them: those that vocabularies are built from,
            then those that they are measured on beside these.
        built_from: the former.
        baselines: the variants that others are relative to, one for each corpus.
        recipes: each variant's recipe as configured (phase: method or options), in the order of the configuration. The
            order settles each variant's colour and mark in every figure.
        configuration: the text of the configuration file.
        provenance: versions, source revision, seconds, hardware; values may be mappings.
        missing: part -> why it is not there, in one sentence.
        speeds: cold encoding speed of each tokenizer, by corpus, size and variant, None where the text is too short.
            Speeds differ from run to run; only the scoreboard of the page shows them.
        own_text: box in which a reader types a text; None where no tokenizer is at hand.
        splits: documents and bytes of each split, by corpus and split; None where they are not known.
        finished: day on which the last tokenizer was built, as YYYY-MM-DD; empty where it is not known.
        demonstration: whether all text is the embedded corpus.
        highlight: variant whose rows and marks stand out; empty for none.
        findings: what was cut, left out, changed or found twice when a corpus was prepared, in lines, by corpus.
        declared: the tables that a report may be of.
        frames: those that are there, by name, with the columns declared; an empty value has a reason.
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

    @property
    def variants(self) -> list[str]:
        """Variants in the order of the configuration."""
        return list(self.recipes)

    @property
    def many(self) -> bool:
        """Whether there are too many variants to compare every pair, and to draw or print them all."""
        return len(self.recipes) > columns.MAX_PAIRWISE_VARIANTS

    @cached_property
    def reading(self) -> list[str]:
        """Variants in the order in which a reader meets them: that of the configuration.

        Where they are many it is the baselines, then the others by the best rank that they have under any model and
        suite, so that the first are those worth reading of.
        """
        ranks = self.frames.get("ranks")
        if not self.many or ranks is None:
            return (
                [*self.baselines, *(one for one in self.variants if one not in self.baselines)]
                if self.many
                else self.variants
            )
        best = dict(ranks.drop_nulls("rank").group_by("variant").agg(pl.col("rank").min()).iter_rows())
        last = len(self.recipes) + 1
        others = sorted(
            set(self.variants) - set(self.baselines), key=lambda one: (best.get(one, last), self._places[one])
        )
        return [*self.baselines, *others]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {variant: index for index, variant in enumerate(self.variants)}

    @cached_property
    def pretokenizers(self) -> dict[str, str]:
        """The pre-tokenizer of each variant of which it is known, those of the baselines first."""
        imported = self.frames.get("imported")
        known = {} if imported is None else dict(imported.select("variant", "pretokenization").iter_rows())
        known |= {name: str(one["pretokenization"]) for name, one in self.recipes.items() if "pretokenization" in one}
        return {name: known[name] for name in dict.fromkeys([*self.baselines, *self.variants]) if name in known}

    @cached_property
    def several_pretokenizers(self) -> bool:
        """Whether the variants have different pre-tokenizers, which tables and figures then name."""
        return len({self.pretokenizers.get(name) for name in self.variants}) > 1

    def place_of_pretokenizer(self, name: str | None) -> tuple[int, str]:
        """Sort key of pre-tokenizers: those of the baselines first, then in the order of the configuration."""
        known = list(dict.fromkeys(self.pretokenizers.values()))
        return (known.index(name) if name in known else len(known), name or "")

    def label(self, variant: str) -> str:
        """The variant's name in figures and sentences, with its pre-tokenizer where there are several."""
        return f"{variant} ({self.pretokenizer(variant)})" if self.several_pretokenizers else variant

    def labelled(self, of_variants: Mapping[str, T]) -> dict[str, T]:
        """Values by the variants' labels, see :meth:`label`."""
        return {self.label(variant): value for variant, value in of_variants.items()}

    def labelled_sizes(self, values: Mapping[tuple[str, int], T]) -> dict[tuple[str, int], T]:
        """The same of values by variant and size."""
        return {(self.label(variant), size): value for (variant, size), value in values.items()}

    @property
    def in_brackets(self) -> str:
        """The sentence of a caption on labels with a pre-tokenizer; empty where there is a single one."""
        return " In brackets: the pre-tokenizer." * self.several_pretokenizers

    def across_pretokenizers(self, *, ranked: bool) -> list[str]:
        """Return the note of a table that has variants of several pre-tokenizers together; none where there is one.

        Args:
            ranked: whether the table ranks them.
        """
        groups: dict[str, list[str]] = {}
        for variant in self.reading:
            groups.setdefault(self.pretokenizer(variant), []).append(variant)
        told = "; ".join(f"{name} of {join_some(variants)}" for name, variants in groups.items())
        what = "Bold numbers and ranks are across different pre-tokenizers" if ranked else "The pre-tokenizers differ"
        return [f"{what}: {told}."] * self.several_pretokenizers

    def pretokenizer(self, variant: str) -> str:
        """The variant's pre-tokenizer in words."""
        return self.pretokenizers.get(variant, UNKNOWN_PRETOKENIZER)

    @cached_property
    def fewer(self) -> Set[tuple[str, int]]:
        """Variant and size of vocabularies that have fewer tokens than others of the size, and are ranked nowhere."""
        measured = self.frames.get("intrinsic")
        return set() if measured is None else undersized_vocabularies(measured)

    @cached_property
    def smaller(self) -> Set[tuple[str, int]]:
        """Variant and size of vocabularies that have fewer tokens than the size, whatever others have."""
        measured = self.frames.get("intrinsic")
        return set() if measured is None else smaller_than_asked(measured)

    def alike(self, values: Mapping[tuple[str, int], float]) -> dict[tuple[str, int], float]:
        """Values by variant and size without those of :attr:`fewer`; all where nothing else is there."""
        kept = {key: value for key, value in values.items() if key not in self.fewer}
        return kept or dict(values)

    def unranked(
        self, cells: Mapping[tuple[int, str], tuple[str, int]]
    ) -> tuple[frozenset[tuple[int, str]], list[str]]:
        """Cells of a table that are not ranked, of vocabularies that have fewer tokens than others of their size, and a
        note that says so.

        Args:
            cells: variant and size of those that could be the best, by (row index, column name).
        """
        found = {place: one for place, one in cells.items() if one in self.fewer}
        told = [f"{variant} at {size:,}" for variant, size in dict.fromkeys(found.values())]
        return frozenset(found), [f"Not ranked, with fewer tokens than others of the size: {join_some(told)}."] * bool(
            told
        )

    def drawn(self, order: Sequence[str]) -> list[str]:
        """The variants of an order that a figure shows: all, or where they are many the first and the baselines."""
        return drawn_of(order, self.baselines)

    def left_out(self, order: Sequence[str], *, ranked: bool = False) -> str:
        """What a caption says of the variants that its figure does not show; nothing where it shows them all.

        Args:
            order: all of them.
            ranked: whether the order is by what the figure shows; otherwise it is that of reading.
        """
        by_rank = "the baseline and those that rank highest under any model"
        unranked = (
            by_rank
            if "ranks" in self.frames and self.frames["ranks"]["rank"].count()
            else "the first of the configuration"
        )
        return left_out(order, self.baselines, BEST if ranked else unranked)

    def read(self, frame: pl.DataFrame, order: Sequence[str] = ()) -> pl.DataFrame:
        """Rows by variant, or by two, in an order; as they are where variants are few.

        Rows of two are put where that of them stands which is no reference: neither the first of the order nor a
        baseline.

        Args:
            frame: with a column ``variant``, or ``a`` and ``b``.
            order: of the variants; the one in which they are read where empty.
        """
        keys = [name for name in ("variant", "a", "b") if name in frame.columns]
        if not self.many or not keys:
            return frame
        names = list(order) or self.reading
        place = {variant: index for index, variant in enumerate(names)}
        at = {key: pl.col(key).replace_strict(place, default=len(place), return_dtype=pl.Int64) for key in keys}
        if keys == ["variant"]:
            return frame.sort(at["variant"], maintain_order=True)
        references = [*self.baselines, *names[:1]]
        other = [pl.when(~pl.col(key).is_in(references)).then(at[key]).otherwise(-1) for key in ("a", "b")]
        return frame.sort(pl.max_horizontal(other), at["a"], at["b"], maintain_order=True)

    def corpora_of(self, frame: pl.DataFrame) -> list[str]:
        """The corpora of a frame in the order of reading; gold data and others that are no text come last, by name."""
        return sorted(frame["corpus"].unique().drop_nulls().to_list(), key=self.place_of_corpus)

    def place_of_corpus(self, name: str) -> tuple[int, str]:
        """What corpora are ordered by."""
        known = list(self.corpora)
        return (known.index(name) if name in known else len(known), name)

    def in_order(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows that begin with a variant, in the order of reading; variants that the configuration does not name come
        last."""
        place = {variant: index for index, variant in enumerate(self.reading)}
        return sorted(rows, key=lambda row: (place.get(row[0], len(place)), row))

    def part(self, name: str) -> pl.DataFrame | None:
        """The frame of one part, corpora in the order of reading and models in that of the configuration.

        None where it is absent or has no row.
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
        """One sentence on why a part is not there."""
        return self.missing.get(name, NOT_RUN)


def drawn_of(order: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """The variants of an order that a figure shows: all, or of many the first, and the baselines."""
    if len(order) <= columns.MAX_PAIRWISE_VARIANTS:
        return list(order)
    return [*order[: columns.MAX_DRAWN], *(one for one in order[columns.MAX_DRAWN :] if one in baselines)]


def left_out(order: Sequence[str], baselines: Sequence[str], which: str) -> str:
    """What a caption says of the variants that its figure does not show; nothing where it shows them all.

    Args:
        order: all of them.
        baselines: variants that are shown wherever they stand.
        which: what the first of the order are.
    """
    shown = drawn_of(order, baselines)
    if len(shown) == len(order):
        return ""
    which += " and the baseline" * (which == BEST and len(shown) > columns.MAX_DRAWN)
    return f" Shown are {len(shown)} of {len(order):,} variants, {which}; the source has all."


def _check(table: TidyTable, frame: pl.DataFrame) -> None:
    absent = [column.name for column in table.columns if column.name not in frame.columns]
    if absent:
        raise TokbenchError(
            f"{table.name}: no column {', '.join(absent)}; rebuild the table with the stage that writes it"
        )
    for column in (one for one in table.columns if one.unit == SHARE):
        shares = frame[column.name].cast(pl.Float64)
        outside = shares.filter((shares < -_ROUNDED) | (shares > 1 + _ROUNDED))
        if not outside.is_empty():
            raise TokbenchError(
                f"{table.name}.{column.name}: {outside[0]} is not a share between 0 and 1; divide percentages by 100"
            )


def read_frames(folders: Mapping[str, Path | str], declared: Iterable[TidyTable]) -> dict[str, pl.DataFrame]:
    """The tables that a report shows and that are there, as ``{name}.parquet``.

    Args:
        folders: where the tables of ``tables``, of ``statistics`` and of ``examples`` lie; those of a folder that is
            not named are left out.
        declared: the tables that there may be.
    """
    there = [table for table in declared if table.prints and table.folder in folders]
    paths = {table.name: Path(folders[table.folder]) / f"{table.name}.parquet" for table in there}
    return {name: read_frame(path, "make the table again") for name, path in paths.items() if path.is_file()}


NO_RUNS = "The configuration trains no language models; name models, variants and suites under runs."


def load(folders: Mapping[str, Path | str], experiment: Experiment, configuration: Mapping[str, Any]) -> ReportContent:
    """What the report of an experiment shows.

    Args:
        folders: where the tables of ``tables``, ``statistics`` and, if there are any, ``examples`` lie.
        experiment: the experiment.
        configuration: its configuration without defaults, as the report prints it.
    """
    declared = tables_of("tabulate", "analyse", "cut_examples")
    frames = read_frames(folders, declared)
    return shown(experiment, configuration, declared, frames, provenance())


def shown(
    experiment: Experiment,
    configuration: Mapping[str, Any],
    declared: Sequence[TidyTable],
    frames: Mapping[str, pl.DataFrame],
    made: Mapping[str, object],
) -> ReportContent:
    """What the report of an experiment shows, its frames and its provenance at hand.

    Args:
        experiment: the experiment.
        configuration: its configuration without defaults, as the report prints it.
        declared: the tables that there may be.
        frames: those that there are, by name.
        made: what made them, nothing where it is not known.
    """
    missing = {} if experiment.runs else {table.name: NO_RUNS for table in declared if table.of_models}
    own_corpora = {experiment.corpus_of(name) for name in experiment.variants}
    building = {experiment.corpus_of(name) for name in experiment.built}
    return ReportContent(
        title=experiment.report.title or f"Tokenizers of the experiment {experiment.name}",
        recipes={name: _recipe(variant) for name, variant in configuration["variants"].items()},
        configuration=yaml.safe_dump(dict(configuration), sort_keys=False, allow_unicode=True, width=100),
        provenance=made,
        declared=declared,
        frames=frames,
        missing=missing,
        preface=experiment.report.summary,
        models=list(experiment.models),
        seeds=same_but_for_seed({name: model.recipe() for name, model in experiment.models.items()}),
        resources=list(experiment.resources),
        corpora=sorted(experiment.corpora, key=lambda name: name not in own_corpora),
        built_from=[name for name in experiment.corpora if name in building],
        baselines=list(dict.fromkeys(experiment.baselines().values())),
        demonstration=all(one.source == "embedded" for one in experiment.corpora.values()) and bool(experiment.corpora),
        highlight=experiment.report.highlight or "",
    )


def _recipe(variant: Mapping[str, Any]) -> dict[str, Any]:
    """The three phases of a variant, with the construction's own segmentation where none is configured; of one that was
    made elsewhere what the configuration says of it."""
    if "from" in variant:
        told = {key: value for key, value in variant.items() if key in ("pattern", "segmentation", "added", "revision")}
        told |= {key: len(variant[key]) for key in ("special_tokens",) if variant.get(key)}
        return {"from": {"method": variant["from"], "path": str(variant.get("path", "")), **told}}
    construction = variant["construction"]
    method = construction if isinstance(construction, str) else construction["method"]
    default = constructions[method].segmentation
    return {
        "pretokenization": pretokenization_of(variant["pretokenization"]).label,
        "construction": construction,
        "segmentation": variant.get("segmentation", default),
        **({"byte_lm": variant["byte_lm"]} if variant.get("byte_lm") else {}),
    }
