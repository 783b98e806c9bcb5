"""The rules of the workflow, with the directives of each."""

import re
from pathlib import Path

from tests.support.workflow.checkout import ROOT

COMMAND_OF = {
    "build_initial": "build",
    "count_split": "count",
    "evaluate_checkpoint": "evaluate",
    "merge_part": "merge_counts",
    "measure_on": "measure",
    "ngram_bits_on": "ngram_bits",
}
"""Rules whose command has another name: an initial vocabulary is built, a checkpoint evaluated as a model is, the
shards of a split counted, a part of many shards merged, and a tokenizer measured on another corpus."""
RULE = re.compile(r"^rule (\w+):\n((?:(?: .*)?\n)+)", re.MULTILINE)
DIRECTIVE = re.compile(r"^    (\w+):(.*(?:\n(?:        .*)?)*)", re.MULTILINE)


def rules() -> dict[str, tuple[Path, dict[str, str]]]:
    """Return the path and the directives, in order, of every rule."""
    return {
        name: (path.parent, dict(DIRECTIVE.findall(body)))
        for path in sorted((ROOT / "rules").glob("*.smk"))
        for name, body in RULE.findall(path.read_text() + "\n")
    }


RULES = rules()
