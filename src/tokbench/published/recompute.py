"""Recomputation of numbers that the papers derive from others: from printed numbers, and from released files.

Statistics of the papers' accuracies use the functions, tables and figures of a run. Figure 5 and rows of table 11 of
"Tokenization Is More Than Compression" are recomputed from files that its authors released.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.compression import COMPRESSED
from tokbench.io.json import parse_json
from tokbench.io.text_files import read_bytes
from tokbench.kernels.exact import exact_sum
from tokbench.metric.renyi import renyi_efficiency
from tokbench.published import facts
from tokbench.published.facts import PrintedValue, Statistic, judge, printed_span, signed_rank_span, statistic_span
from tokbench.statistics.accuracies.critical_difference import critical_differences
from tokbench.statistics.accuracies.intervals import average_intervals
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.statistics.accuracies.ranks import averages, averages_by_size
from tokbench.tabulation.vocabularies import venn_by_size
from tokbench.tokenizer.hugging_face import unspell
from tokbench.vocabulary import Vocabulary

SIZES = [32768, 40960, 49152]
TEN = "pathpiece"
Row = dict[str, str]
Recomputed = tuple[PrintedValue | None, str]
RANDOM = "random guessing"
SIZE = 40_960
FILES = {
    "bpe": "bpe_merge_3_40960",
    "pathpiece_bpe": "pathpiecel_initbpe_firstspace_1_40960",
    "sage_bpe": "sage_initbpe_firstspace_6_40960",
}
"""Stem of each variant's files: ``.json`` or ``.vocab``, and ``_token_counts.tsv``, plain or compressed."""
END_OF_TEXT = "<|endoftext|>"


@cache
def recompute() -> tuple[Statistic, ...]:
    """Return all rows of :func:`tokbench.published.facts.statistics` with their recomputations."""
    known: Mapping[str, Callable[[Row], Recomputed]] = {
        "average_accuracy": _average,
        "rank": _rank,
        "wilcoxon_p": _wilcoxon,
        "r_squared": _r_squared,
        "pearson_r": _pearson,
        "removed_percent": _share_of_vocabulary("removed_tokens"),
        "unique_percent": _share_of_vocabulary("unique_tokens"),
        "improvement_percent:tokens_per_word": _improvement,
        "improvement_percent:unigram_objective": _improvement,
    }
    return tuple(judge(row, *known[row["statistic"]](row)) for row in _rows())


def _rows() -> Iterator[Row]:
    return facts.statistics().iter_rows(named=True)


def _average(row: Row) -> Recomputed:
    if row["a"] == RANDOM:
        guesses = facts.tasks().filter(paper=row["paper"])["random"].to_list()
        mean = sum(guesses) / len(guesses)
        return PrintedValue(mean, mean, mean), ""
    sizes = [int(row["size"])] if row["size"] else SIZES
    span = facts.average_span(row["paper"], row["model"], row["a"], sizes)
    return span, "" if span else f"accuracies of the {row['model']} models are printed as averages alone"


def _rank(row: Row) -> Recomputed:
    """Recompute the rank of the average among the variants that the same table ranks."""
    rivals = facts.statistics().filter(paper=row["paper"], where=row["where"], statistic="rank", model=row["model"])
    sizes = [int(row["size"])] if row["size"] else SIZES
    average_spans = {name: facts.average_span(row["paper"], row["model"], name, sizes) for name in rivals["a"]}
    averages = {name: span for name, span in average_spans.items() if span is not None}
    if len(averages) < len(average_spans):
        return None, f"accuracies of the {row['model']} models are printed as averages alone"
    average = averages[row["a"]]
    rival_averages = [span for name, span in averages.items() if name != row["a"]]
    best = 1 + sum(span.low > average.high for span in rival_averages)
    worst = 1 + sum(span.high > average.low for span in rival_averages)
    return PrintedValue(best, 1 + sum(span.value > average.value for span in rival_averages), worst), ""


def _wilcoxon(row: Row) -> Recomputed:
    sizes = [int(row["size"])] if row["size"] else SIZES
    cells = facts.spans(TEN)
    tasks = facts.tasks().filter(paper=TEN)["task"].to_list()
    first, second = ([cells[row["model"], row[side], size, task] for size in sizes for task in tasks] for side in "ab")
    allowed = signed_rank_span(first, second)
    as_printed = signed_rank_span(*([_exact(span) for span in side] for side in (first, second)))
    return PrintedValue(min(allowed.low, as_printed.low), allowed.value, max(allowed.high, as_printed.high)), ""


def _exact(span: PrintedValue) -> PrintedValue:
    return PrintedValue(span.value, span.value, span.value)


def _averages(sizes: list[int]) -> list[PrintedValue]:
    """Return average accuracies of the 18 variants, size by size."""
    names = sorted(facts.main_runs()["variant"].unique())
    spans = [facts.average_span(TEN, facts.MODEL, name, [size]) for size in sizes for name in names]
    return [span for span in spans if span is not None]


def _r_squared(row: Row) -> Recomputed:
    return statistic_span(lambda values: _r(values) ** 2, _averages([int(row["a"]), int(row["b"])])), ""


def _pearson(row: Row) -> Recomputed:
    sides = []
    names = sorted(facts.main_runs()["variant"].unique())
    for side in "ab":
        if row[side] == "average_accuracy":
            sides += _averages(SIZES)
        else:
            spans = facts.measured_spans(row[side])
            sides += [spans[name, size] for size in SIZES for name in names]
    return statistic_span(_r, sides), ""


def _r(values: NDArray[np.float64]) -> float:
    """Return Pearson's r of the first half of the values with the second."""
    first, second = (side - side.mean() for side in np.split(values, 2))
    return exact_sum(first * second) / sqrt(exact_sum(first * first) * exact_sum(second * second))


def _printed(row: Row, metric: str, corpus: str, variant: str) -> PrintedValue:
    chosen = facts.cells().filter(
        paper=row["paper"], metric=metric, corpus=corpus, variant=variant, size=int(row["size"])
    )
    return printed_span(chosen["value"].item())


def _improvement(row: Row) -> Recomputed:
    """Recompute by how many percent a is nearer to zero than b: (b - a) / b, of tokens per word or the objective."""
    metric = row["statistic"].partition(":")[2]
    a, b = (_printed(row, metric, row["model"], row[side]) for side in "ab")
    return statistic_span(lambda values: float(100 * (values[1] - values[0]) / values[1]), [a, b]), ""


def _share_of_vocabulary(metric: str) -> Callable[[Row], Recomputed]:
    def share(row: Row) -> Recomputed:
        count = float(_printed(row, metric, row["b"], row["a"]).value)
        percent = 100 * count / int(row["size"])
        return PrintedValue(percent, percent, percent), ""

    return share


@dataclass(frozen=True)
class ModelSet:
    """A set of comparable models, with its statistics.

    Attributes:
        name: stem of its files.
        of: description in captions.
        accuracy, ranks, by_size, pairs, power, average_ranks, intervals: tables of :mod:`tokbench.statistics`;
            ``intervals`` is None if numbers of questions are not known.
    """

    name: str
    of: str
    accuracy: pl.DataFrame
    ranks: pl.DataFrame
    by_size: pl.DataFrame
    pairs: pl.DataFrame
    power: pl.DataFrame
    average_ranks: pl.DataFrame
    intervals: pl.DataFrame | None

    @property
    def order(self) -> list[str]:
        """Variants by rank, ties by name, without those that lack a cell."""
        known = self.ranks.filter(pl.col("average").is_not_null())
        return known.sort("rank", "variant")["variant"].to_list()


@cache
def model_sets() -> tuple[ModelSet, ...]:
    """Return the 18 variants, all variants at 40,960, the 1.3B models, and GreedTok's models."""
    small = facts.accuracy("pathpiece").filter(model=facts.MODEL, size=40960)
    large = facts.accuracy("pathpiece").filter(model="1.3B")
    greedtok = facts.accuracy("greedtok")
    return (
        _comparison("350M", "18 variants at three vocabulary sizes, 350M models, ten tasks", facts.main_runs()),
        _comparison("350M-40960", "26 variants at 40,960, those of appendix F too, 350M models, ten tasks", small),
        _comparison("1.3B", "1.3B models at 40,960, ten tasks", large),
        _comparison("greedtok-1B", "GreedTok's 1B models at 65,536, eleven tasks", greedtok),
    )


def _comparison(name: str, of: str, accuracy: pl.DataFrame) -> ModelSet:
    pairs = compare_pairs(accuracy)
    known = accuracy["n"].null_count() == 0
    return ModelSet(
        name,
        of,
        accuracy,
        averages(accuracy),
        averages_by_size(accuracy),
        pairs,
        power_table(pairs),
        critical_differences(accuracy),
        average_intervals(accuracy) if known else None,
    )


def recompute_released(folder: Path | str) -> list[Statistic]:
    """Recompute regions of the vocabularies, and token counts and Rényi efficiencies on MiniPile, from released files.

    Args:
        folder: folder of the files.

    Raises:
        TokbenchError: a file is missing or not readable; the message names it.
    """
    folder = Path(folder)
    vocabularies = {name: _vocabulary(folder, stem) for name, stem in FILES.items()}
    frequencies = {name: _frequencies(folder, stem) for name, stem in FILES.items()}
    return [*_regions(vocabularies), *_usage(frequencies)]


def _regions(vocabularies: Mapping[str, Vocabulary]) -> list[Statistic]:
    counted = venn_by_size({(name, SIZE): vocabulary for name, vocabulary in vocabularies.items()}, [list(FILES)])
    ours = counted.row(0, named=True)
    printed = facts.regions().filter(where="Figure 5").row(0, named=True)
    short = {name: SIZE - len(vocabulary) for name, vocabulary in vocabularies.items() if len(vocabulary) < SIZE}
    note = "; ".join(
        f"{count} tokens of {name} are not in its file, which has none of more than 16 bytes: the figure counts them"
        for name, count in short.items()
    )
    rows = []
    for region in ("only_a", "only_b", "only_c", "a_and_b", "a_and_c", "b_and_c", "all"):
        span = PrintedValue(*[float(ours[region])] * 3)
        differs = ours[region] != printed[region]
        names = ", ".join(f"{letter} = {name}" for letter, name in zip("abc", FILES, strict=True))
        row = _row("Figure 5", f"tokens in {region.replace('_', ' ')}", names, str(printed[region]))
        rows.append(judge(row, span, note if differs else ""))
    return rows


def _usage(frequencies: Mapping[str, NDArray[np.int64]]) -> list[Statistic]:
    printed = facts.cells().filter(paper="pathpiece", where="Table 11", size=SIZE)
    rows = []
    for name, counts in frequencies.items():
        for metric, value in printed.filter(variant=name).select("metric", "value").iter_rows():
            if metric == "corpus_token_count":
                ours = counts.sum() / 1e9
            else:
                ours = renyi_efficiency(counts, float(metric.rpartition("_")[2]), SIZE)
            rows.append(judge(_row("Table 11", metric, name, value), PrintedValue(*[float(ours)] * 3)))
    return rows


def _row(where: str, statistic: str, a: str, value: str) -> dict[str, str]:
    return {
        "paper": "pathpiece",
        "where": where,
        "statistic": statistic,
        "model": "",
        "size": str(SIZE),
        "a": a,
        "b": "",
        "relation": "=",
        "value": value,
        "note": "",
    }


def _vocabulary(folder: Path, stem: str) -> Vocabulary:
    path = _find(folder, f"{stem}.vocab", f"{stem}.json")
    text = _text(path)
    try:
        if path.name.startswith(f"{stem}.vocab"):
            return Vocabulary(tuple(map(bytes.fromhex, text.split())))
        described = parse_json(text, str(path), remedy="fetch the file again")
        return Vocabulary(tuple(map(unspell, described["model"]["vocab"])))
    except (KeyError, TypeError, ValueError, AttributeError, TokbenchError) as error:
        raise TokbenchError(f"{path}: not a released vocabulary ({error}); fetch the file again") from None


def _frequencies(folder: Path, stem: str) -> NDArray[np.int64]:
    path = _find(folder, f"{stem}_token_counts.tsv")
    rows = [line.rpartition("\t") for line in _text(path).split("\n") if line]
    try:
        return np.array([int(count) for token, _, count in rows if token != END_OF_TEXT], np.int64)
    except (ValueError, OverflowError) as error:
        raise TokbenchError(f"{path}: not counts of tokens ({error}); fetch the file again") from None


def _find(folder: Path, *names: str) -> Path:
    for name in (f"{name}{suffix}" for name in names for suffix in ("", *COMPRESSED)):
        if (folder / name).is_file():
            return folder / name
    raise TokbenchError(
        f"{folder}: no {' or '.join(names)}, plain or compressed; pass the folder of the vocabularies that the authors "
        "released"
    )


def _text(path: Path) -> str:
    try:
        return read_bytes(path, "fetch the file again").decode()
    except UnicodeDecodeError as error:
        raise TokbenchError(f"{path}: cannot be read ({error}); fetch the file again") from None
