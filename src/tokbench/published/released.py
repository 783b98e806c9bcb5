"""Figure 5 and rows of table 11 of "Tokenization Is More Than Compression", from the files its authors released."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.byte_level import unspell
from tokbench.errors import TokbenchError
from tokbench.inputs.endings import COMPRESSED
from tokbench.inputs.files import read_whole
from tokbench.inputs.json import parse_json
from tokbench.metric.renyi import renyi_efficiency
from tokbench.published import facts
from tokbench.published.agreement import Statistic, judged
from tokbench.statistics.rounding import Span
from tokbench.tabulation.venn import venn_by_size
from tokbench.vocabulary import Vocabulary

SIZE = 40_960
FILES = {
    "bpe": "bpe_merge_3_40960",
    "pathpiece_bpe": "pathpiecel_initbpe_firstspace_1_40960",
    "sage_bpe": "sage_initbpe_firstspace_6_40960",
}
"""Stem of each variant's files: ``.json`` or ``.vocab`` and ``_token_counts.tsv``, each plain or compressed."""
END_OF_TEXT = "<|endoftext|>"


def released(folder: Path | str) -> list[Statistic]:
    """Regions of the vocabularies, and token counts and Rényi efficiencies on MiniPile, beside the printed ones.

    Args:
        folder: where the files lie.

    Raises:
        TokbenchError: a file is missing or not readable; the message names it.
    """
    folder = Path(folder)
    vocabularies = {name: _vocabulary(folder, stem) for name, stem in FILES.items()}
    frequencies = {name: _frequencies(folder, stem) for name, stem in FILES.items()}
    return [*_regions(vocabularies), *_usage(frequencies)]


def _regions(vocabularies: Mapping[str, Vocabulary]) -> list[Statistic]:
    counted = venn_by_size({(name, SIZE): vocabulary for name, vocabulary in vocabularies.items()}, list(FILES))
    ours = counted.row(0, named=True)
    printed = facts.regions().filter(where="Figure 5").row(0, named=True)
    short = {name: SIZE - len(vocabulary) for name, vocabulary in vocabularies.items() if len(vocabulary) < SIZE}
    note = "; ".join(
        f"{count} tokens of {name} are not in its file, which has none of more than 16 bytes: the figure counts them"
        for name, count in short.items()
    )
    rows = []
    for region in ("only_a", "only_b", "only_c", "a_and_b", "a_and_c", "b_and_c", "all"):
        span = Span(*[float(ours[region])] * 3)
        differs = ours[region] != printed[region]
        names = ", ".join(f"{letter} = {name}" for letter, name in zip("abc", FILES, strict=True))
        row = _row("Figure 5", f"tokens in {region.replace('_', ' ')}", names, str(printed[region]))
        rows.append(judged(row, span, note if differs else ""))
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
            rows.append(judged(_row("Table 11", metric, name, value), Span(*[float(ours)] * 3)))
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
        f"{folder}: no {' or '.join(names)}, plain or compressed; name the folder of the vocabularies that the authors "
        "released"
    )


def _text(path: Path) -> str:
    try:
        return read_whole(path, "fetch the file again").decode()
    except UnicodeDecodeError as error:
        raise TokbenchError(f"{path}: cannot be read ({error}); fetch the file again") from None
