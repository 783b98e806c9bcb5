"""Stages of corpora: download, preparation in one job or in parts, and leakage between splits."""

from typing import TYPE_CHECKING, Any

from tokbench.config.targets import CorpusTarget, ParallelTarget, all_drawn, all_evaluated
from tokbench.corpus.formats import corpus_formats
from tokbench.corpus.parallel import RecordPairs
from tokbench.corpus.sources import type_of
from tokbench.stage import Result, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


def splits_made_from(experiment: "Experiment", corpus: str) -> list[tuple[str, str]]:
    """Return corpus and split of all training text of the tokenizers and models that are tested on a corpus.

    A split that is identical to another by ``splits`` is named once, and the evaluation split is excluded.
    """
    read = ["tokenizer", *(["byte_lm"] if experiment.byte_lms else []), *(["pretraining"] if experiment.runs else [])]
    own = [(corpus, split) for split in read]
    built = [
        (experiment.corpus_of(name), "tokenizer")
        for name in experiment.built
        if corpus in experiment.measured_on_of(name)
    ]
    made_from: dict[tuple[str, str], None] = {}
    for name, split in own + built:
        splits: dict[str, float | str] = dict(experiment.corpora[name].splits.items())
        share = splits.get(split, 0.0)
        target = share if isinstance(share, str) else split
        same = name == corpus and target == splits.get("evaluation")
        if splits.get(target) and target != "evaluation" and not same and not experiment.corpora[name].counted:
            made_from[name, target] = None
    return list(made_from)


def _evaluated(experiment: "Experiment") -> list[CorpusTarget]:
    return [CorpusTarget(corpus) for corpus in all_evaluated(experiment)]


def _parallel(experiment: "Experiment") -> list[ParallelTarget]:
    return [ParallelTarget(parallel) for parallel in experiment.parallel_corpora]


def _format(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the modules of the formats of a corpus's files; empty if it has none."""
    sources = experiment.corpora[wildcards.corpus].named_sources.values()
    formats = (corpus_formats.find(type_of(source)) for source in sources)
    return list(dict.fromkeys(read_by.module for read_by in formats if read_by))


def _formats_of_pairs(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the modules of the formats of a parallel corpus's files."""
    sources = experiment.parallel_corpora[wildcards.parallel].sources().values()
    types = sorted({type_of(source) for source in sources if isinstance(source, RecordPairs)})
    return [corpus_formats[name].module for name in types]


FETCH = stages.add(Stage("fetch", run="tokbench.corpus.fetch:fetch", libraries=("datasets",)))
FETCH_PAIRS = stages.add(Stage("fetch_pairs", run="tokbench.corpus.fetch:fetch_pairs", libraries=("datasets",)))
READ_SIZES = stages.add(Stage("read_sizes", run="tokbench.commands.corpora:read_sizes_command", methods=_format))
SPLIT_CORPUS = stages.add(Stage("split_corpus", run="tokbench.corpus.shuffle:assign_documents"))
DEAL_PART = stages.add(Stage("deal_part", run="tokbench.commands.corpora:deal_part_command", methods=_format))
WRITE_SHARDS = stages.add(Stage("write_shards", run="tokbench.commands.corpora:write_shards_command"))


def _all_parts(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the format, and for a corpus in parts the code of all steps, most of whose files are temporary."""
    if experiment.corpora[wildcards.corpus].parts == 1:
        return _format(experiment, wildcards)
    steps = (READ_SIZES, SPLIT_CORPUS, DEAL_PART, WRITE_SHARDS)
    return [definition for step in steps for definition in step.code(experiment, wildcards)]


def _prepare(experiment: "Experiment", wildcards: Any) -> str:
    in_parts = experiment.corpora[wildcards.corpus].parts > 1
    return f"tokbench.corpus.prepare:{'link_shards' if in_parts else 'prepare'}"


PREPARE = stages.add(
    Stage(
        "prepare",
        run=_prepare,
        results=(Result("domains", "corpus/{corpus}", all_drawn, "Folder of a corpus of drawn documents"),),
        methods=_all_parts,
    )
)
PREPARE_PARALLEL = stages.add(
    Stage(
        "prepare_parallel",
        run="tokbench.corpus.parallel_prepare:prepare_parallel",
        results=(Result("parallel", "parallel/{parallel}", _parallel, "Folder of a parallel corpus"),),
        methods=_formats_of_pairs,
    )
)
FIND_LEAKAGE = stages.add(
    Stage(
        "find_leakage",
        run="tokbench.commands.corpora:find_leakage_command",
        results=(Result("leakage", "leakage/{corpus}.json", _evaluated, "Output of 'tokbench find_leakage'"),),
    )
)
