"""Leaderboard of the tokenizers that people use, for the site's first page and results/published/existing.

``python tools/make_leaderboard.py [RESULTS]``, or ``make leaderboard``, which runs the experiment first. With RESULTS,
the folder of a run of experiments/existing.yaml, its tables are kept first. From the kept tables and the list of
``tokbench download tokenizers`` this writes ``leaderboard.csv``, the tables of the README there, and
build/gallery/leaderboard.html, a page of its own.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
from analyse_published import keep
from leaderboard_page import BOARD, PAGE, TEXTS, read_board, write_page
from render_published import DECLARED, PROVENANCE, ROOT, experiment_of, kept

from tokbench.archives.lists import read_list
from tokbench.config.experiment import Experiment
from tokbench.io.json import read_json
from tokbench.io.provenance import provenance
from tokbench.report.leaderboard import NAME
from tokbench.report.speeds import read_speeds
from tokbench.statistics.comparisons.families import ALIKE, BEST, UNRANKED, UNTESTED

PLACE = BOARD.parent
"""Folder of the published experiment."""
README = PLACE / "README.md"
SPEEDS = PLACE / "speeds.csv"
"""Cold encoding speeds of the run."""
PARALLEL, ENGLISH = "languages", "eng"
"""Corpus of parallel text, and the language of its premiums."""
MEASURES = {
    "words_in_one_token": ("segmented_words_in_one_token", "words with bytes in one token only"),
    "tokens_per_digit": ("tokens_per_digit", "tokens with bytes of a number / digits"),
}
"""Columns of the leaderboard that are intrinsic metrics: metric, and the beginning of its definition."""
DIGITS = 6
"""Significant digits of numbers of the leaderboard. The kept tables have them in full."""
SHOWN_LANGUAGES = (
    "eng", "deu", "fra", "spa", "rus", "ukr", "tur", "ara", "hin", "ben", "tam", "cmn_Hans", "jpn", "kor", "tha", "swh",
    "amh",
)  # fmt: skip
"""Languages of the README's table of premiums."""
SIGNS = {BEST: " ★", ALIKE: " ≈", UNTESTED: " ○", UNRANKED: " †"}
"""Signs next to a number, by its verdict; others are significantly worse than the best."""
COMMAND = re.compile(r"^snakemake (?:.*\\\n)*.*$", re.MULTILINE)
"""Command of the experiment in the README."""
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Place of a table in the README."""


def main() -> None:
    """Write the leaderboard, the tables of the README and the page."""
    parser = argparse.ArgumentParser(description="Write the leaderboard of the tokenizers that people use.")
    parser.add_argument("results", nargs="?", type=Path, help="folder of a run of experiments/existing.yaml")
    given = parser.parse_args()
    if given.results:
        keep(given.results, PLACE)
        keep_speeds(given.results)
        keep_provenance(given.results)
    leaderboard().write_csv(BOARD)
    board = read_board()
    README.write_text(with_tables(README.read_text(encoding="utf-8"), board), encoding="utf-8")
    write_page()
    print(f"{len(board):,} rows: {BOARD.relative_to(ROOT)}, {README.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}")


def keep_speeds(results: Path) -> None:
    """Write the cold encoding speeds of a run as a table."""
    speeds = read_speeds(map(str, sorted((results / "speeds").glob("*/*/*.json"))))
    rows = [
        {"variant": variant, "corpus": corpus, "bytes": speed.bytes, "seconds": speed.seconds, "rounds": speed.rounds}
        for (corpus, _, variant), speed in sorted(speeds.items())
        if speed is not None
    ]
    pl.DataFrame(rows).write_csv(SPEEDS)


def keep_provenance(results: Path) -> None:
    """Write revision, versions, machine and command of a run as a table; the machine is this one."""
    run = read_json(results / NAME, remedy="run the experiment")
    versions = {"tokbench": run["tokbench"]["version"], **run["versions"]}
    values = {f"versions › {name}": version for name, version in versions.items() if name != "python"}
    values["revision"] = run["tokbench"]["revision"]
    values |= {f"hardware › {name.replace('_', ' ')}": str(value) for name, value in provenance()["hardware"].items()}
    values["command"] = " ".join(COMMAND.findall(README.read_text(encoding="utf-8"))[0].replace("\\\n", " ").split())
    pl.DataFrame({"what": list(values), "value": list(values.values())}).write_csv(PLACE / PROVENANCE)


def leaderboard() -> pl.DataFrame:
    """Return one row for each tokenizer and text, and for each language of the parallel text.

    Rows are in the order of the texts, and by bytes per token. Tokenizers that lose text come last.
    """
    experiment, _ = experiment_of(PLACE)
    declared = {table.name: table for table in DECLARED}
    counted, intrinsic = (kept(PLACE / "tidy", declared[name]) for name in ("existing_tokenizers", "intrinsic"))
    assert counted is not None
    assert intrinsic is not None
    rows = counted.rename({"corpus": "text", "bytes_per_token_low": "low", "bytes_per_token_high": "high"})
    rows = rows.with_columns(
        # The mean premium of the languages, for the text of all.
        pl.col("premium").fill_null(
            pl.col("premium").filter(pl.col("language") != ENGLISH).mean().over("variant", "text")
        ),
        pl.col("language").fill_null(""),
        ranked=pl.col("verdict") != UNRANKED,
        place=pl.col("text").replace_strict({text: place for place, text in enumerate(TEXTS)}),
    )
    for column, (metric, definition) in MEASURES.items():
        values = intrinsic.filter(pl.col("metric") == metric, pl.col("definition").str.starts_with(definition))
        values = values.select("variant", "language", text="corpus", value="value").rename({"value": column})
        rows = rows.join(values, on=["variant", "text", "language"], how="left")
    speeds = pl.read_csv(SPEEDS).select(
        "variant", text="corpus", language=pl.lit(""), megabytes_per_second=pl.col("bytes") / pl.col("seconds") / 1e6
    )
    rows = rows.join(speeds, on=["variant", "text", "language"], how="left").join(about(experiment), on="variant")
    return rows.with_columns(cs.float().round_sig_figs(DIGITS)).sort(
        "place", "language", "ranked", "bytes_per_token", "variant", descending=[False, False, True, True, False]
    ).select(
        "variant", "title", "maker", "year", "licence", "text", "language", "size", "ids", "pretokenization",
        "documents", "documents_changed", "ranked", "bytes", "tokens", "bytes_per_token", "low", "high", "behind",
        "behind_low", "behind_high", "verdict", "premium", *MEASURES, "megabytes_per_second",
    )  # fmt: skip


def about(experiment: Experiment) -> pl.DataFrame:
    """Return title, maker, year and licence of each variant, from the list of files to download."""
    files = read_list("tokenizers").files
    listed = {variant: files[Path(settings.path).name] for variant, settings in experiment.external.items()}
    return pl.DataFrame(
        [
            {"variant": name, "title": file.title, "maker": file.maker, "year": file.year, "licence": file.licence}
            for name, file in listed.items()
        ]
    )


def with_tables(text: str, board: pl.DataFrame) -> str:
    """Return the text of the README with its tables of today."""
    tables = {
        "sources": sources_table(board), "texts": texts_table(board), "premiums": premiums_table(board),
        "measures": measures_table(board),
    }  # fmt: skip
    return BLOCK.sub(lambda block: f"{block[1]}{tables[block[2]]}{block[3]}", text)


def sources_table(board: pl.DataFrame) -> str:
    """Return documents and bytes of each text."""
    texts = board.filter(language="").unique("text", maintain_order=True)
    lines = [[TEXTS[row["text"]], f"{row['documents']:,}", f"{row['bytes']:,}"] for row in texts.iter_rows(named=True)]
    return _markdown(["text", "documents", "bytes"], lines)


def texts_table(board: pl.DataFrame) -> str:
    """Return bytes per token of each tokenizer on each text, by those of the first text."""
    of_texts = board.filter(language="")
    texts = [text for text in TEXTS if text in set(of_texts["text"])]
    values = {(row["variant"], row["text"]): row for row in of_texts.iter_rows(named=True)}
    heads = ["tokenizer", "year", "tokens", *texts]
    lines = []
    for row in of_texts.filter(text=texts[0]).iter_rows(named=True):
        cells = [_value(values.get((row["variant"], text))) for text in texts]
        lines.append([row["title"], str(row["year"]), f"{row['size']:,}", *cells])
    return _markdown(heads, lines)


def _value(row: dict[str, Any] | None) -> str:
    """Return bytes per token with the sign of its verdict."""
    if row is None or row["bytes_per_token"] is None:
        return "–"
    return f"{row['bytes_per_token']:.2f}{SIGNS.get(row['verdict'], '')}"


def premiums_table(board: pl.DataFrame) -> str:
    """Return premiums of each tokenizer in some languages, the lowest mean first."""
    parallel = board.filter(text=PARALLEL)
    values = {(row["variant"], row["language"]): row["premium"] for row in parallel.iter_rows(named=True)}
    languages = [language for language in SHOWN_LANGUAGES if language in set(parallel["language"])]
    lines = []
    for row in parallel.filter(language="").sort("premium", "variant").iter_rows(named=True):
        mark = "" if row["ranked"] else SIGNS[UNRANKED]
        cells = [values[row["variant"], language] for language in languages]
        lines.append([f"{row['title']}{mark}", f"{row['premium']:.2f}", *(f"{cell:.2f}" for cell in cells)])
    return _markdown(["tokenizer", "mean of 56", *languages], lines)


def measures_table(board: pl.DataFrame) -> str:
    """Return words in one token, tokens per digit, changed documents and speed, by the year."""
    news, tables, all_texts = (
        {row["variant"]: row for row in part.iter_rows(named=True)}
        for part in (
            board.filter(text="news", language=""),
            board.filter(text="tables", language=""),
            board.filter(language="").group_by("variant").agg(pl.col("documents_changed", "documents").sum()),
        )
    )
    lines = []
    for variant, row in sorted(news.items(), key=lambda item: (item[1]["year"], item[0])):
        changed = all_texts[variant]["documents_changed"]
        lines.append([
            row["title"], row["maker"], str(row["year"]), f"{row['ids']:,}", f"{100 * row['words_in_one_token']:.1f}",
            f"{tables[variant]['tokens_per_digit']:.2f}", f"{changed:,}" if changed else "none",
            f"{row['megabytes_per_second']:.1f}",
        ])  # fmt: skip
    documents = next(iter(all_texts.values()))["documents"]
    heads = [
        "tokenizer", "maker", "year", "rows of embeddings", "words of news in one token (%)",
        "tokens per digit of tables", f"documents changed, of {documents:,}", "MB/s",
    ]  # fmt: skip
    return _markdown(heads, lines, words=2)


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a Markdown table; columns after the first ``words`` are numbers."""
    rule = ["---"] * words + ["---:"] * (len(heads) - words)
    return "".join(f"| {' | '.join(line)} |\n" for line in (heads, rule, *lines))


if __name__ == "__main__":
    main()
