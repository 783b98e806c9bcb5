"""What a rule's command calls of the stages is behind the rule's fingerprint."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.rules import COMMAND_OF, RULES
from tests.support.workflow.checkout import ROOT
from tokbench.config.load import read
from tokbench.construction import constructions
from tokbench.pretokenization import schemes
from tokbench.segmentation import segmentations
from tokbench.workflow import fingerprint as module
from tokbench.workflow.fingerprint import EFFECTS, Name, fingerprint

PLANNED = Path(__file__).parent / "support" / "workflow" / "planned.yaml"
FILES = {"books": __file__, "gold": __file__, "reading": __file__, "ranks": __file__}
SPELLED_OUT = re.compile(r"tokbench\.\w+(\.\w+)*(:|\.)(\w*Options|\w*PRESETS|RECIPES|named_suites|SEED|TOKENIZERS|OWN)")
"""Options: a recipe has their values in full."""
WITHOUT_EFFECT = {
    *("COPIES", "LEAST", "room", "on_gpu", "check_stage", "without_windows"),
    *("check_size", "is_slice", "launched", "files_of", "Examples", "HubTokenizer", "DETECT"),
    *("note_untagged", "told"),
}
"""What bounds memory, what rejects a command, and what is said on the way."""
PACKED_IN_SLICES = {"tokbench.pretraining.pack:join", "tokbench.pretraining.order:Slices"}
NOT_CHOSEN = {
    "train_byte_lm": {"tokbench.byte_lm.ngram:train"},
    "score_bytes": {"tokbench.byte_lm.ngram:score"},
    "build": {"tokbench.building:read_running", "tokbench.building:read_scored"},
    "build_initial": {"tokbench.building:read_running", "tokbench.building:read_scored"},
    "split_corpus": {"tokbench.corpus.manifest:lines_of", "tokbench.corpus.manifest:read_findings"},
    "prepare": {
        "tokbench.corpus.prepare:link_shards",
        "tokbench.corpus.manifest:lines_of",
        "tokbench.corpus.manifest:read_findings",
    },
    "write_shards": {"tokbench.corpus.manifest:read_findings"},
    "measure_resource": {"tokbench.intrinsic.alignment_by_word:nothing_by_word"},
    "import_counts": {"tokbench.pretokenization:pretokenization_of"},
    "ngram_bits": {"tokbench.corpus.documents:is_shard"},
    "ngram_bits_on": {"tokbench.corpus.documents:is_shard"},
    "pack": {*PACKED_IN_SLICES, "tokbench.pretraining.pack:Form"},
    "cite": {"tokbench.citations.cited:cited"},
}
"""What a rule's job does not come to, as its recipe chooses otherwise or has the answer."""


def called(command: str) -> set[Name]:
    """What a command uses of the stages, by way of other commands' functions too."""
    pending, seen = [Name(f"tokbench.commands.{command}", "command")], set[Name]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += module._read(*name)[1] if name.module.startswith("tokbench.commands") else []
    return {name for name in seen if not module.is_plumbing(name.module) and name.name != EFFECTS}


@pytest.fixture(scope="module")
def named() -> dict[str, tuple[str, ...]]:
    """What the fingerprint of every rule names, for wildcards of an experiment with something of everything."""
    asked: list[tuple[str, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "code_behind", lambda *names: asked.append(names) or {})
        patch.chdir(PLANNED.parent)
        asks = {"experiment": read(PLANNED, FILES), "fingerprint": fingerprint}
        for path in (ROOT / "rules").glob("*.smk"):
            if path.stem != "common":
                exec(f"\n{path.read_text()}".partition("\nrule ")[0], asks)
        on = SimpleNamespace(
            variant="bpe",
            size="1024",
            scheme="gpt2",
            byte_lm="bytes",
            initial="bpe",
            resource="gold",
            model="small",
            corpus="books",
        )
        found = {}
        for name, (_, directives) in RULES.items():
            [source] = re.findall(r"source=(.*?),\n(?=        \w|$)", directives["params"], re.DOTALL)
            fingerprint.cache_clear()
            asked.clear()
            value = eval(source, asks)
            if callable(value):
                on.variant = "ranks" if name == "import" else "bpe"
                value(on)
            [found[name]] = asked
    fingerprint.cache_clear()
    return found


@pytest.mark.parametrize("rule", RULES)
def test_what_a_command_calls_counts(rule: str, named: dict[str, tuple[str, ...]]) -> None:
    behind = module.code_behind(*named[rule])
    calls = {":".join(name) for name in called(COMMAND_OF.get(rule, rule))}
    free = {name for name in calls if SPELLED_OUT.match(name) or name.partition(":")[2] in WITHOUT_EFFECT}
    assert calls - free - NOT_CHOSEN.get(rule, set()) <= behind.keys()


def test_names_without_effect_are_called() -> None:
    """Every exception is one of a command."""
    calls = {":".join(name) for rule in RULES for name in called(COMMAND_OF.get(rule, rule))}
    assert {name.partition(":")[2] for name in calls} >= WITHOUT_EFFECT
    assert set().union(*NOT_CHOSEN.values()) <= calls


@pytest.mark.parametrize("rule", ["build", "build_initial"])
def test_only_the_chosen_methods_count(rule: str, named: dict[str, tuple[str, ...]]) -> None:
    """Of all constructions, segmentations and schemes, those that the variant names."""
    behind = {name.partition(":")[0] for name in module.code_behind(*named[rule])}
    methods = {method.module for kind in (constructions, segmentations, schemes) for method in kind.methods()}
    assert methods & behind == {"tokbench.construction.bpe", "tokbench.pretokenization.built_in"} | (
        {"tokbench.segmentation.merge"} if rule == "build" else set()
    )
