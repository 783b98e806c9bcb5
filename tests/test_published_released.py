"""Figures and tables of the papers recomputed from the files that their authors released."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.external_data import DATA, needs
from tokbench.byte_level import spell
from tokbench.errors import TokbenchError
from tokbench.published.agreement import DIFFERS, SAME
from tokbench.published.released import FILES, released
from tokbench.vocabulary import BYTES

ROOT = Path(__file__).parents[1]
TIMTC = DATA / "timtc"


@needs(TIMTC)
def test_figure_5_and_table_11_from_released_files() -> None:
    found = released(TIMTC)
    assert [one.verdict for one in found if one.where == "Table 11"] == [SAME] * 18
    regions = {one.statistic.removeprefix("tokens in "): one for one in found if one.where == "Figure 5"}
    assert {name for name, one in regions.items() if one.verdict == SAME} == {"only c", "a and c", "b and c", "all"}
    off = {name: int(one.published) - (one.ours or 0) for name, one in regions.items() if one.verdict == DIFFERS}
    assert off == {"only a": -151, "only b": 312, "a and b": 151}
    assert all("463 tokens of pathpiece_bpe" in regions[name].note for name in off)


def write_released(folder: Path) -> None:
    folder.mkdir()
    for stem in FILES.values():
        (folder / f"{stem}_token_counts.tsv").write_text("\u0120the\t30\na\t10\n<|endoftext|>\t5\n")
        if stem.startswith("bpe"):
            spelt = {spell(token): index for index, token in enumerate([*BYTES, b" the"])}
            (folder / f"{stem}.json").write_text(json.dumps({"model": {"vocab": spelt}}))
        else:
            tokens = [*BYTES, b"of"] if stem.startswith("sage") else BYTES
            (folder / f"{stem}.vocab.gz").write_bytes(gzip.compress("\n".join(map(bytes.hex, tokens)).encode()))


def test_released_files_plain_or_packed(tmp_path: Path) -> None:
    folder = tmp_path / "released"
    write_released(folder)
    found = {(one.statistic, one.a): one.ours for one in released(folder)}
    assert found["corpus_token_count", "bpe"] == 40 / 1e9
    assert found["renyi_efficiency_2", "bpe"] == pytest.approx(-np.log(0.75**2 + 0.25**2) / np.log(40_960))
    regions = [value for (statistic, _), value in found.items() if statistic.startswith("tokens in")]
    assert regions == [1, 0, 1, 0, 0, 0, 256]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("sage_initbpe_firstspace_6_40960.vocab.gz", None, "no sage_initbpe_firstspace_6_40960.vocab or"),
        ("sage_initbpe_firstspace_6_40960.vocab.gz", b"no gzip", "cannot be read"),
        ("bpe_merge_3_40960.json", b"{}", r"bpe_merge_3_40960\.json: not a released vocabulary"),
        (
            "sage_initbpe_firstspace_6_40960.vocab.gz",
            gzip.compress(b"61", mtime=0),
            r"\.vocab\.gz: not a released vocabulary",
        ),
        ("bpe_merge_3_40960_token_counts.tsv", b"a\tmany\n", "not counts of tokens"),
    ],
)
def test_bad_released_files_are_named(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    folder = tmp_path / "released"
    write_released(folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(TokbenchError, match=message):
        released(folder)
