"""Where the numbers of each kind of table come from, by paths within the experiment's folder."""

from tokbench.report.layout import Source
from tokbench.statistics.seeds import SEVERAL
from tokbench.tidy.table import TidyTable

TEXT, RESOURCE = "intrinsic/{variant}/{size}.json", "intrinsic/{variant}/{size}/{corpus}.json"
EMBEDDINGS = "embeddings/{model}/{variant}/{size}/measurements.json"
_COMPARED = ("relative_", "dropped_", "added_", "common_", "venn_", "partition_cover_ratio")
_BOUNDED = ("gap", "partition_cover_attained")
_EMBEDDED = ("embedding_norm", "mean_embedding_norm", "mean_token_probability", "undertrained_tokens", "unseen_tokens")


def source_of(table: TidyTable, which: int = 0, **at: object) -> Source:
    """A table and the files of the stages behind one of its prints; a model of several seeds has several files."""
    shared = {key: one for key, one in at.items() if not SEVERAL.search(str(one))}
    return Source([path_of(table)], table.prints[which].files, shared)


def path_of(table: TidyTable) -> str:
    """Where a table lies."""
    return f"{table.folder}/{table.name}.csv"


def measured_in(metric: str) -> tuple[str, ...]:
    """Files of an intrinsic metric that is not of one tokenizer on one text; none for one that is."""
    if metric.startswith(_EMBEDDED):
        return (EMBEDDINGS,)
    if metric in _BOUNDED:
        return ("bounds/{corpus}/*/{size}.json", "tokenizers/*/{size}/tokens.vocab", TEXT)
    return ("tokenizers/*/{size}/tokens.vocab", TEXT) if metric.startswith(_COMPARED) else ()
