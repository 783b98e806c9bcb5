"""Write docs/scale.md and its figure from what scale.py measured.

python benchmarks/scale_page.py docs
"""

import argparse
import json
import math
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

import scale_plot
from performance import table
from scale_larger import by_stage, obstacles, whole
from scale_plan import MOST_SHARDS, SHARD_BYTES
from scale_summary import Rows, pretokens, read, sizes, vocabulary
from scale_tables import bounds, left_out, measured, number, power, volume

INTRODUCTION = """\
`make scale TEXT=FOLDER` measures all of this anew on whatever text a folder holds, and writes this page;
[`scale.csv`](performance/scale.csv) has every process, [`benchmarks/scale.py`](../benchmarks/scale.py) says how it was
started. An experiment of eight constructions runs job by job, one thread each, by the command lines that the workflow
prints for it. Seconds are those of the processor, user and system together; memory is what the process had resident at
the most, as the kernel tells it, in MB of 10^6 bytes like `mem_mb`."""
HOW = """\
The text is dealt out to 17 shards, so that counts are merged in two steps and shards are encoded by jobs of their own,
as in a large corpus. Every split is all of the text."""
FITTED = """\
*Power* is p where what goes beyond the start grows as the quantity to the power of p, with its 95 % interval (Student's
t; how far points lie from their lines is pooled over the stages, as each has four at the most). A start is what the
same job takes of a megabyte. 0 stands where less than a tenth is added to it, or tells sizes apart; sizes that add less
than a quarter are left out of the line, and so are those that took more than a larger one. Where one alone is left,
growth is taken to be proportional. The quantity is the text of one job or, for what reads counts, the different
pre-tokens; for disk, the text."""
COMPARED = """\
Not all that `build` takes is construction: it compares `tokenizer.json`, by Hugging Face's library, with the tokenizer
on the most frequent million of pre-tokens, which is most of the time of `bpe`; each job's log tells how long the
construction took. For `wordpiece` and `ngram` nothing is compared where a pre-token has more than 2,000 bytes, as
larger texts have, so that these may take less than smaller ones."""
BEYOND = """\
**All of this is extrapolated.** The lines of the fits go on, through the largest size measured; in brackets stands what
the ends of the intervals make of it, and of the interval of the number of pre-tokens. *Times beyond* says how many
times as much a job reads as the largest that was measured. A text in many languages has more different pre-tokens, one
of prose fewer than code. Waiting for a cluster is left out."""
READING = """\
- Stages over shards (`count`, `merge_part`, `score_bytes`, `encode_shard`, `pack_slice`) take as many jobs as there are
  shards, or 16 of them, and as much memory and time each as these: a larger corpus means more of them, not larger ones.
  Only `score_bytes` takes more memory, for its model is of the whole text.
- `prepare` was measured as one job, which it is unless the corpus asks for `parts`: then jobs side by side read as much
  of the source each, and write as many of the shards, [to the same files](stages.md#a-corpus-in-parts). Together they
  take longer than the one job: texts are written once more on their way.
- `train_byte_lm` is one job, whatever the corpus. Where the table above names it, make several corpora of it, or give
  the split less: byte language models seldom need all of a large text.
- `score_bytes` holds the model beside a shard, and is given what a model of its number of windows may take at the
  most. Where that is more than a node has, give the split of the byte language model less.
- Sequences are packed [in slices](stages.md#many-shards-packed-side-by-side), a job for each 16 shards; `pack` puts
  them together.
- Constructions read counts, so what counts for them is the number of different pre-tokens. Where the memory above is
  more than a node has, `min_count` leaves out the rare ones; `build` says which would fit and what share of the text
  goes with them. SaGe trains on a million lines whatever the corpus.
- `prepare` holds 100 bytes a document at most, and in parts `split_corpus` alone holds 20: where that is more than
  their rules give, 2,000 and 4,000 MB, `set-resources` in the profile gives them more, as `split_corpus: {mem_mb:
  12000}`, or documents are joined.
- Documents were some ten thousand bytes long here. Shorter ones take longer for their bytes.
"""


def page(rows: Rows, facts: dict[str, Any]) -> str:
    """The page."""
    about, found = facts["machine"], sizes(rows)
    texts = [
        [
            f"{size:g} GB",
            f"{facts['texts'][f'{size:g}']['text_bytes']:,}",
            f"{facts['texts'][f'{size:g}']['documents']:,}",
            f"{pretokens(rows, size)[1]:,.0f}",
        ]
        for size in found
    ]
    seconds = math.fsum(float(row["processor"]) for row in rows)
    excluded = left_out(rows)
    over = [f"{row['stage']} ({row['name']})" for row in rows if float(row["peak_mb"]) > float(row["bound_mb"])]
    verdict = f"{sum(not row['error'] for row in rows):,} processes were measured; " + (
        f"{len(over)} took more than their bound: {', '.join(over)}." if over else "each stayed within its bound."
    )
    parts: Iterable[str] = (
        "# Scale",
        INTRODUCTION,
        fill(f"The text: {facts['about']}", 120, break_on_hyphens=False),
        table(("size", "bytes of text", "documents", "different pre-tokens"), texts),
        f"Different pre-tokens (of `gpt2`) grow with the text to the power of {power(vocabulary(rows))}.\n"
        f"The machine: {about['processor']}, {about['cores']} processors, {about['memory_gib']} GiB,\n"
        f"{about['system']}, Python {about['python']}, shared with others while this was measured. Vocabularies have\n"
        f"{facts['tokens']:,} tokens; PathPiece and SaGe start from 65,536 n-grams. All took {number(seconds / 60)} "
        "minutes of processor time.",
        HOW,
        "![Time, memory and disk](performance/scale.svg)",
        "## Time",
        "Seconds of all jobs of a stage; the power is that of one job.",
        measured(rows, lambda one: number(one.processor), lambda grown: power(grown.seconds), "power"),
        COMPARED,
        excluded,
        "## Memory",
        verdict,
        "MB of the largest process.",
        measured(rows, lambda one: f"{one.peak_mb:,.0f}", lambda grown: power(grown.memory), "power"),
        bounds(rows),
        "## Disk",
        "MB that a stage writes. Counts of shards and of parts, encoded shards and packed sequences go again once\n"
        "they are used; temporary files of a running job are left out.",
        measured(rows, lambda one: number(one.disk / 1e6), lambda grown: power(grown.disk), "power"),
        "## The fits",
        FITTED,
        "## Larger corpora",
        BEYOND,
        f"The same experiment, with the same splits. Shards of {volume(SHARD_BYTES)}, {MOST_SHARDS:,} at most, which\n"
        "is what a configuration takes. MiniPile has 6 GB of text, the Pile 825 GiB, as their papers say; of Common\n"
        "Corpus two trillion tokens are told, here taken as four bytes each, in some 500 million documents.",
        whole(rows, facts["plans"]),
        "### By stage",
        by_stage(rows, facts["plans"]),
        "### Single jobs",
        obstacles(rows, facts["plans"]),
        READING,
    )
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder of scale.md and performance/")
    arguments = parser.parse_args()
    folder = arguments.results / "performance"
    rows = read(folder / "scale.csv")
    facts = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
    scale_plot.draw(rows, folder / "scale.svg")
    (arguments.results / "scale.md").write_text(page(rows, facts), encoding="utf-8")


if __name__ == "__main__":
    main()
