"""Where the numbers of each kind of table come from, by paths within the experiment's folder."""

from tokbench.report.tables import Source
from tokbench.statistics.seeds import SEVERAL

ANSWERS = "downstream/{model}/{variant}/{size}/{suite}.json"
"""What a model answered, with its accuracies and bits per byte."""
BOTH = ("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json")
"""What two variants' models answered."""
VOCABULARIES = ("tokenizers/{a}/{size}/tokens.vocab", "tokenizers/{b}/{size}/tokens.vocab")
TEXT, RESOURCE = "intrinsic/{variant}/{size}.json", "intrinsic/{variant}/{size}/{corpus}.json"
EMBEDDINGS = "embeddings/{model}/{variant}/{size}/measurements.json"
_COMPARED = ("relative_", "dropped_", "added_", "common_", "venn_", "partition_cover_ratio")
_EMBEDDED = ("embedding_norm", "mean_embedding_norm", "mean_token_probability", "undertrained_tokens", "unseen_tokens")


def tidy(name: str, *files: str, **at: object) -> Source:
    """A tidy table and the files of the stages behind it."""
    return Source([f"tables/{name}.csv"], files, at)


def inferred(name: str, *files: str, **at: object) -> Source:
    """A table of statistics and the files of the stages behind it; one model by several seeds has several files."""
    return Source(
        [f"statistics/{name}.csv"], files, {key: one for key, one in at.items() if not SEVERAL.search(str(one))}
    )


def measured_in(metric: str) -> tuple[str, ...]:
    """Files of an intrinsic metric that is not of one tokenizer on one text; none for one that is."""
    if metric.startswith(_EMBEDDED):
        return (EMBEDDINGS,)
    return ("tokenizers/*/{size}/tokens.vocab", TEXT) if metric.startswith(_COMPARED) else ()
