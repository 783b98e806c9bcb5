"""A mixture of sources in the workflow: weights of domains rerun the last stages, and a changed source its corpus."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workflow.checkout import Checkout

LAST = {"statistics", "figures", "typeset", "report.html", "leaderboard.json", "leaderboard.csv"}
MIXED = """
name: mixed
corpora:
  mix:
    sources:
      web: {source: {type: text, path: web.txt}, weight: 3}
      code: {source: {type: text, path: code.txt}, weight: 1}
  letters: {source: {type: text, path: letters.txt}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  bpe_of_letters: {corpus: letters, pretokenization: gpt2, construction: bpe}
ngram_bits: {}
sizes: [300]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A finished run of an experiment whose commands do nothing but leave their outputs."""
    checkout = Checkout(tmp_path_factory.mktemp("mixture"), stand_in=True)
    for name in ("web", "code", "letters"):
        (checkout.folder / f"{name}.txt").write_text(f"A text of {name}.\n")
    (checkout.folder / "mixed.yaml").write_text(MIXED)
    checkout.snakemake("--cores", "2", "--configfile", "mixed.yaml")
    yield checkout
    checkout.close()


def plan(checkout: Checkout, text: str) -> set[str]:
    """Return what the next run of a configuration makes, without the parts of the configuration."""
    (checkout.folder / "changed.yaml").write_text(text)
    pending = {output for output, pending in checkout.summary(Path("changed.yaml")).items() if pending}
    return {output for output in pending if not output.startswith("experiment/")}


def test_weights_of_domains_rerun_statistics_and_report_only(finished: Checkout) -> None:
    assert plan(finished, MIXED) == set()
    weights = "statistics: {domain_weights: {web: 1, code: 2}}\n"
    assert plan(finished, MIXED + weights) == LAST


@pytest.mark.parametrize(
    ("old", "new"), [("weight: 3", "weight: 2"), ("  letters:", "    sample: 0.5\n  letters:"), ("web:", "pages:")]
)
def test_other_shares_rerun_the_mixture_and_not_other_corpora(finished: Checkout, old: str, new: str) -> None:
    pending = plan(finished, MIXED.replace(old, new))
    assert {"corpus/mix", "tokenizers/bpe/300", "ngram_bits/bpe/300.json"} <= pending
    assert not [output for output in pending if "letters" in output]


def test_order_of_sources_and_moved_files_rerun_nothing(finished: Checkout) -> None:
    lines = MIXED.splitlines()
    web, code = (next(number for number, line in enumerate(lines) if name in line) for name in ("web:", "code:"))
    lines[web], lines[code] = lines[code], lines[web]
    assert not [output for output in plan(finished, "\n".join(lines)) if output not in LAST | {"tables"}]
    (finished.folder / "moved").mkdir()
    (finished.folder / "web.txt").rename(finished.folder / "moved" / "web.txt")
    try:
        pending = plan(finished, MIXED.replace("path: web.txt", "path: moved/web.txt"))
        assert not [output for output in pending if output not in LAST | {"tables"}]
    finally:
        (finished.folder / "moved" / "web.txt").rename(finished.folder / "web.txt")


def test_changed_file_of_a_source_reruns_the_mixture(finished: Checkout) -> None:
    path = finished.folder / "code.txt"
    before = path.read_text()
    path.write_text("Another text.\n")
    try:
        assert "corpus/mix" in plan(finished, MIXED)
    finally:
        path.write_text(before)
