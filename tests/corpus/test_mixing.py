"""Samples and mixtures: draws by a hash, shares of bytes, shuffled documents, bounded memory, and refusals."""

import json
import random
from collections import Counter
from hashlib import blake2b
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.processes import MEGABYTE, peak
from tokbench.commands.recipes import corpus_of, mixture_of
from tokbench.config.corpus import Corpus
from tokbench.config.load import read as read_configuration
from tokbench.corpus import mixing
from tokbench.corpus.documents import Document, is_shard, read_documents, read_findings
from tokbench.corpus.limits import without_limits
from tokbench.corpus.mixing import Draw, DrawnRows, draw_documents
from tokbench.corpus.partitions import partition_part, write_partitions
from tokbench.corpus.parts import groups_of, parts_of, write_sizes
from tokbench.corpus.prepare import UNBOUND, PreparedSource, prepare
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import shard_paths
from tokbench.corpus.shuffle import ShardAssignment, assign_documents, read_totals
from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError
from tokbench.intrinsic.document_tokens import tokens_by_document
from tokbench.options import validated
from tokbench.runtime.memory_limit import MemoryLimit

SHARES = {"tokenizer": 0.5, "evaluation": 0.25, "pretraining": 0.25}


def texts_of(name: str, number: int, seed: int) -> list[str]:
    draws = random.Random(seed)
    return [f"{name} {place} " + "x" * draws.randint(0, 300) for place in range(number)]


def source_of(folder: Path, name: str, texts: list[str], files: int = 1) -> Source:
    """Return a source of records, in files of consecutive ones."""
    paths = []
    for part in range(files):
        path = folder / f"{name}-{part}.jsonl"
        own = texts[part * len(texts) // files : (part + 1) * len(texts) // files]
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in own), encoding="utf-8")
        paths.append(str(path))
    corpus = validated({"source": {"type": "jsonl", "path": paths}}, Corpus, "test")
    assert corpus.source is not None
    return corpus.source


def read(
    folder: Path, shards: int, splits: dict[str, float] = SHARES
) -> dict[str, list[tuple[int, bytes, str | None]]]:
    """Return number, text and domain of the documents of each split, in their order."""
    rows = {}
    for split in splits:
        frame = pl.concat([pl.read_parquet(path) for path in shard_paths(folder, split, shards)])
        for path in shard_paths(folder, split, shards):
            assert pl.read_parquet(path)["document"].is_sorted()
        frame = frame.sort("document")
        domains = frame["domain"].to_list() if "domain" in frame.columns else [None] * len(frame)
        rows[split] = list(zip(frame["document"].to_list(), frame["text"].to_list(), domains, strict=True))
    return rows


def digests_of(texts: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(blake2b(text, digest_size=16).digest() for text in texts), np.uint64).reshape(-1, 2)


def test_draw_depends_on_no_position_order_of_files_shards_parts_or_memory(tmp_path: Path) -> None:
    texts = texts_of("web", 900, 1)
    shuffled = random.Random(2).sample(texts, len(texts))
    draw = Draw({"": None}, sample=0.3)
    outcomes = []
    for number, (order, files, shards, room) in enumerate(
        [(texts, 1, 1, 10**9), (shuffled, 3, 1, 10**9), (texts, 1, 4, 10**9), (shuffled, 2, 4, 10**5)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = source_of(folder, "web", order, files)
        allowed = MemoryLimit(2000, 200_000_000 + room)
        prepare(source, SHARES, 5, shards, folder / "corpus", allowed=allowed, draw=draw)
        outcomes.append(read(folder / "corpus", shards))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert not all(is_shard(path) is False for path in shard_paths(tmp_path / "0" / "corpus", "tokenizer", 1))


def test_sample_has_its_probability_is_nested_and_is_not_the_head(tmp_path: Path) -> None:
    texts = [text.encode() for text in texts_of("web", 20_000, 1)]
    sizes, digests = np.array([len(text) for text in texts]), digests_of(texts)

    def drawn(sample: float, seed: int = 0) -> set[int]:
        return set(draw_documents(Draw({"": None}, sample=sample), sizes, digests, [len(texts)], seed).order.tolist())

    for sample in (0.1, 0.5):
        for seed in (0, 1):
            # Five standard deviations of a binomial number, in each half of the source.
            for half in (range(10_000), range(10_000, 20_000)):
                number = len(drawn(sample, seed).intersection(half))
                assert abs(number - 10_000 * sample) < 5 * sqrt(10_000 * sample * (1 - sample))
    assert drawn(0.1) < drawn(0.5)
    # Two seeds agree as often as independent draws do.
    both = len(drawn(0.5) & drawn(0.5, 1))
    assert abs(both - 5000) < 5 * sqrt(20_000 * 0.25 * 0.75)


@pytest.mark.parametrize("weights", [{"code": 1.0, "web": 3.0}, {"code": 2.0, "web": 2.0}, {"code": 1.0, "web": 0.1}])
def test_weights_are_shares_of_bytes_within_a_document(weights: dict[str, float]) -> None:
    texts = [text.encode() for name in ("code", "web") for text in texts_of(name, 1000, len(name))]
    sizes, digests = np.array([len(text) for text in texts]), digests_of(texts)
    for of_bytes in (None, 60_000):
        draw = Draw(weights, bytes=of_bytes)
        order = draw_documents(draw, sizes, digests, [1000, 1000], 3).order
        drawn = [int(sizes[order[order < 1000]].sum()), int(sizes[order[order >= 1000]].sum())]
        available = [int(sizes[:1000].sum()), int(sizes[1000:].sum())]
        whole = sum(weights.values())
        total = of_bytes or min(size * whole / weight for size, weight in zip(available, weights.values(), strict=True))
        for size, weight in zip(drawn, weights.values(), strict=True):
            assert abs(size - total * weight / whole) <= sizes.max() / 2 + 1


@pytest.mark.parametrize(("temperature", "expected"), [(1, [0.9, 0.1]), (0, [0.5, 0.5]), (0.5, [0.75, 0.25])])
def test_temperature_is_the_power_of_the_sizes(temperature: float, expected: list[float]) -> None:
    draw = Draw({"large": None, "small": None}, temperature=temperature)
    assert [float(share) for share in draw.shares([900, 100])] == pytest.approx(expected, abs=1e-9)
    assert draw.wanted([900, 100]) == [int(min(900 / expected[0], 100 / expected[1]) * share) for share in expected]


def test_sources_one_after_the_other_are_mixed_in_every_split(tmp_path: Path) -> None:
    sources = {name: PreparedSource(source_of(tmp_path, name, texts_of(name, 1500, 4))) for name in ("code", "web")}
    weights = {"code": 1.0, "web": 2.0}
    prepare(sources, SHARES, 0, 2, tmp_path / "corpus", draw=Draw(weights))
    numbers = []
    for split, rows in read(tmp_path / "corpus", 2).items():
        numbers += [number for number, _, _ in rows]
        assert all(text.startswith(domain.encode()) for _, text, domain in rows if domain)
        size = Counter[str]()
        for _, text, domain in rows:
            size[domain or ""] += len(text)
        assert abs(size["web"] / size.total() - 2 / 3) < 0.01, split
        # Runs test of Wald and Wolfowitz: as many changes of the domain as in a random order, within 5 deviations.
        domains = [domain for _, _, domain in rows]
        counts = list(Counter(domains).values())
        expected = 2 * counts[0] * counts[1] / len(rows) + 1
        deviation = sqrt((expected - 1) * (expected - 2) / (len(rows) - 1))
        runs = 1 + sum(a != b for a, b in pairwise(domains))
        assert abs(runs - expected) < 5 * deviation
    assert sorted(numbers) == list(range(len(numbers)))
    # Shards without a domain are read as before.
    documents = list(read_documents(shard_paths(tmp_path / "corpus", "tokenizer", 2)))
    assert [document.document for document in documents] == sorted(document.document for document in documents)
    lines = read_findings(tmp_path / "corpus")["drawn"]
    assert [line.split(":")[0] for line in lines] == ["code", "web"]
    assert "of the mixture" in lines[1]


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_give_the_same_mixture(tmp_path: Path, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing, "BUCKET_BYTES", 5000)
    sources = {name: source_of(tmp_path, name, texts_of(name, 600, 7), 3) for name in ("code", "web")}
    draw, shards, longest = Draw({"code": 1.0, "web": 1.0}, bytes=120_000), 2, 150
    whole = {name: PreparedSource(source) for name, source in sources.items()}
    prepare(whole, SHARES, 1, shards, tmp_path / "whole", longest=longest, draw=draw)
    # Each step as its command calls it.
    sizes, queues = [], []
    for name, source in sources.items():
        for part, (files, span) in enumerate(parts_of(source, parts)):
            sizes.append(tmp_path / f"sizes-{name}-{part}")
            own = source.model_copy(update={"path": [str(file) for _, file in files]})
            write_sizes(read_source(own, None, span, longest), sizes[-1])
    places = tmp_path / "places"
    places.mkdir()
    assign_documents(sources, SHARES, 1, shards, sizes, places, UNBOUND, longest, draw=draw)
    totals = read_totals(places)
    buckets = len(totals.documents) // (len(SHARES) * shards)
    assert buckets > 1
    groups = [range(group.start * buckets, group.stop * buckets) for group in groups_of(len(SHARES) * shards, parts)]
    part_number = 0
    for source in sources.values():
        for files, span in parts_of(source, parts):
            own = without_limits(source).model_copy(update={"path": [str(file) for _, file in files]})
            queues.append(tmp_path / f"queue-{part_number}")
            place = places / f"{part_number:04}.parquet"
            assert ShardAssignment(place).buckets == buckets
            partition_part(own, read_source(own, None, span, longest), place, groups, queues[-1], UNBOUND)
            part_number += 1
    paths = [path for split in SHARES for path in shard_paths(tmp_path / "parts", split, shards)]
    for group in groups:
        own_paths = paths[group.start // buckets : group.stop // buckets]
        write_partitions(queues, group, totals, own_paths, UNBOUND)
    for path in paths:
        other = tmp_path / "whole" / path.relative_to(tmp_path / "parts")
        assert path.read_bytes() == other.read_bytes()


def test_pieces_of_a_long_document_stay_together(tmp_path: Path) -> None:
    source = source_of(tmp_path, "web", texts_of("web", 300, 3))
    draw = Draw({"": None}, sample=0.5)
    prepare(source, SHARES, 0, 1, tmp_path / "cut", longest=100, draw=draw)
    prepare(source, SHARES, 0, 1, tmp_path / "whole", draw=draw)
    for split in SHARES:
        cut = [document.text for document in read_documents(shard_paths(tmp_path / "cut", split, 1))]
        whole = [document.text for document in read_documents(shard_paths(tmp_path / "whole", split, 1))]
        assert b"".join(cut) == b"".join(whole)
        assert len(cut) > len(whole)


def test_places_are_buckets_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing, "BUCKET_BYTES", 1000)
    draws = np.random.default_rng(0)
    sizes = draws.integers(0, 100, 500)
    order = draws.permutation(500)[:400]
    splits = np.full(500, -1, np.int8)
    splits[order] = draws.integers(-1, 2, 400)
    rows = DrawnRows(order, splits, sizes, np.empty(0, np.int64), 2, 3)
    assert (rows.numbers[order] == np.arange(400)).all()
    assert (np.delete(rows.numbers, order) == -1).all()
    for place in np.unique(rows.places[rows.places >= 0]):
        members = np.flatnonzero(rows.places == place)
        assert (sizes[members] + mixing.PER_SORTED_DOCUMENT).sum() <= 1000 + 100 + mixing.PER_SORTED_DOCUMENT
        assert (splits[members] == place // rows.buckets // 3).all()
    # In a shard, later places have later documents.
    for shard in range(6):
        members = np.flatnonzero(rows.places // rows.buckets == shard)
        members = members[np.argsort(rows.numbers[members])]
        assert (np.diff(rows.places[members]) >= 0).all()


@pytest.mark.parametrize("size", [1000, 20_000])
def test_memory_is_bounded(size: int, tmp_path: Path) -> None:
    """The text is larger than the memory that is left for it, in documents of either length."""
    allowed, draws = 240, random.Random(0)
    for name in ("code", "web"):
        with (tmp_path / f"{name}.txt").open("w") as file:
            file.writelines(f"{draws.randbytes(size // 2).hex()}\n" for _ in range(80 * MEGABYTE // size))
    sources = {
        name: {"source": {"type": "text", "path": str(tmp_path / f"{name}.txt"), "documents": "line"}, "weight": 1}
        for name in ("code", "web")
    }
    recipe = json.dumps({"sources": sources, "seed": 0, "splits": {"pretraining": 1.0}})
    files = [tmp_path / "code.txt", tmp_path / "web.txt"]
    taken = peak("prepare", "--memory", allowed, "--recipe", recipe, "-o", tmp_path / "corpus", *files)
    assert taken <= allowed * MEGABYTE


def test_equal_documents_are_drawn_together_and_empty_ones_are_allowed() -> None:
    texts = [b"same"] * 50 + [b""] * 50 + [f"text {number}".encode() for number in range(200)]
    sizes, digests = np.array([len(text) for text in texts]), digests_of(texts)
    for seed in range(20):
        order = draw_documents(Draw({"": None}, sample=0.5), sizes, digests, [len(texts)], seed).order
        for same in (range(50), range(50, 100)):
            assert len(set(order.tolist()).intersection(same)) in (0, 50)


def test_a_source_that_is_too_small_or_empty_is_one_line(tmp_path: Path) -> None:
    sizes, digests = np.array([10] * 100 + [10] * 10), digests_of([str(number).encode() for number in range(110)])
    weights = {"code": 1.0, "web": 1.0}
    with pytest.raises(TokbenchError, match=r"^sources.web: its share of the 400 bytes is 200, but it has 100; set 'b"):
        draw_documents(Draw(weights, bytes=400), sizes, digests, [100, 10], 0)
    with pytest.raises(TokbenchError, match=r"^bytes: 2,000 requested, but the source has 1,100; lower it"):
        draw_documents(Draw({"": None}, bytes=2000), sizes, digests, [110], 0)
    with pytest.raises(TokbenchError, match=r"^bytes: no document is drawn"):
        draw_documents(Draw({"": None}, bytes=3), sizes, digests, [110], 0)
    with pytest.raises(TokbenchError, match=r"^source: no document with text is drawn; raise 'sample'"):
        draw_documents(Draw({"": None}, sample=1e-9), sizes, digests, [110], 0)
    empty = {name: PreparedSource(source_of(tmp_path, name, texts)) for name, texts in {"a": ["x"], "b": []}.items()}
    with pytest.raises(TokbenchError, match=r"^sources.b: there are no documents; name files with text"):
        prepare(empty, SHARES, 0, 1, tmp_path / "corpus", draw=Draw({"a": None, "b": None}))


def mistakes_of(folder: Path, corpus: str) -> list[str]:
    """Return the lines of ``tokbench validate`` about a corpus, next to two files."""
    for name, size in {"web": 4000, "code": 1000}.items():
        (folder / f"{name}.txt").write_text(f"{name} " * (size // 5) if name == "code" else "web " * (size // 4))
    path = folder / "mine.yaml"
    path.write_text(
        f"name: mine\ncorpora: {{mix: {corpus}}}\nvariants: {{bpe: {{pretokenization: gpt2, construction: bpe}}}}\n"
        "sizes: [300]\n"
    )
    with pytest.raises(TokbenchError) as error:
        read_configuration(path)
    return str(error.value).replace(f"{folder}/", "").splitlines()


WEB, CODE = "source: {type: text, path: web.txt}", "source: {type: text, path: code.txt}"


@pytest.mark.parametrize(
    ("corpus", "line"),
    [
        (f"{{{WEB}, sources: {{code: {{{CODE}}}}}}}", "corpora.mix: has both 'source' and 'sources'; give one source"),
        ("{shards: 2}", "corpora.mix: has no source; add the key 'source'"),
        ("{sources: {}}", "corpora.mix: has no source; add the key 'source'"),
        (f"{{sources: {{web: {{{WEB}, weight: 0}}}}}}", "corpora.mix.sources.web.weight: must be more than 0"),
        (f"{{sources: {{web: {{{WEB}, weight: 1}}, code: {{{CODE}}}}}}}",
         "corpora.mix.sources.code.weight: other sources have a weight; give one to each source, or to none"),
        (f"{{sources: {{web: {{{WEB}, weight: 1}}, code: {{{CODE}, weight: 2}}}}, temperature: 0.5}}",
         "corpora.mix.temperature: changes shares by the sizes of sources, and the sources have weights"),
        (f"{{{WEB}, temperature: 0.5}}", "corpora.mix.temperature: changes shares by the sizes of sources, and there"),
        (f"{{sources: {{web: {{{WEB}}}, copy: {{{WEB}}}}}}}",
         "corpora.mix.sources.copy: reads web.txt, as 'web' does; name it in one source only"),
        (f"{{sources: {{web: {{{WEB}, weight: 1}}, code: {{{CODE}, weight: 1}}}}, bytes: 3kB}}",
         "corpora.mix.sources.code: its share of the 3,000 bytes is 1,500, but its files have 1,000; set"),
        (f"{{{CODE}, bytes: 2kB}}", "corpora.mix.bytes: 2,000 requested, but the files have 1,000; lower it"),
        (f"{{{CODE}, bytes: 2 parsecs}}", "corpora.mix.bytes: '2 parsecs' is not a number of bytes; write it as in"),
        (f"{{{CODE}, sample: 1.5}}", "corpora.mix.sample: must be less than 1"),
        ("{source: {type: counts, path: code.txt}, sample: 0.5}", "corpora.mix: a corpus of counts has no documents"),
        ("{sources: {web: {source: {type: counts, path: web.txt}}}}",
         "corpora.mix.sources.web.source: type 'counts' cannot be mixed; name files of documents"),
        ("{sources: {web: {source: {type: text}}}}", "corpora.mix.sources.web.source.path: no path given; add it"),
        ("{sources: {web: {source: {type: text, path: no.txt}}}}", "corpora.mix.sources.web.source.path: no file at"),
        ("{sources: {web: {source: {type: text}}}, bytes: 3kB}", "corpora.mix.sources.web.source.path: no path given"),
    ],
)  # fmt: skip
def test_wrong_draws_are_one_line_before_any_work(
    corpus: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = mistakes_of(tmp_path, corpus)
    assert any(line in one for one in lines), lines
    assert not [one for one in lines if "have 0" in one], "a source without a path has no size yet"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GB", 2 * 10**9), ("1.5 MB", 1_500_000), ("3kB", 3000), ("1KiB", 1024), ("7B", 7), (12, 12), ("0.1TB", 10**11)],
)
def test_sizes_have_units(text: str | int, expected: int) -> None:
    assert validated({"source": "embedded", "bytes": text}, Corpus, "test").bytes == expected


@pytest.mark.parametrize(
    ("weights", "line"),
    [
        ("{web: 1, cod: 2}", "statistics.domain_weights: 'cod' is not a domain (code, web)"),
        (
            "{web: 1}",
            "statistics.domain_weights: no weight of 'code', a source of corpus 'mix'; add it (0 leaves it out)",
        ),
        ("{web: 0, code: 0}", "statistics.domain_weights: all domains of corpus 'mix' have weight 0"),
        ("{web: -1, code: 1}", "statistics.domain_weights.web: must be at least 0"),
    ],
)
def test_wrong_weights_of_domains_are_one_line(
    weights: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = f"{{sources: {{web: {{{WEB}}}, code: {{{CODE}}}}}}}}}\nstatistics: {{domain_weights: {weights}"
    assert any(line in one for one in mistakes_of(tmp_path, corpus)), mistakes_of(tmp_path, corpus)


def test_downloads_of_a_mixture_are_the_last_files_in_the_order_of_sources(tmp_path: Path) -> None:
    web = source_of(tmp_path, "web", texts_of("web", 300, 1))
    for name in ("b", "a"):
        frame = pl.DataFrame({"text": texts_of(name, 300, 2), "language": [""] * 300})
        frame.write_parquet(tmp_path / f"{name}.parquet")
    hub = {"type": "hub", "dataset": "owner/a", "revision": "0" * 40}
    recipe = {
        "sources": {
            "web": {"source": web.model_dump(mode="json")},
            "b": {"source": hub | {"dataset": "owner/b"}},
            "a": {"source": hub},
        },
        "seed": 0,
    }
    corpus, _ = corpus_of(json.dumps(recipe))
    files = [str(tmp_path / name) for name in ("web-0.jsonl", "a.parquet", "b.parquet")]
    sources = mixture_of(corpus, files)
    assert {name: source.cache and source.cache.name for name, source in sources.items()} == {
        "a": "a.parquet",
        "b": "b.parquet",
        "web": None,
    }
    prepare(sources, SHARES, 0, 1, tmp_path / "corpus", draw=corpus.draw)
    for rows in read(tmp_path / "corpus", 1).values():
        assert {domain for _, _, domain in rows} == {"a", "b", "web"}
        assert all(text.startswith(f"{domain} ".encode()) for _, text, domain in rows)
    with pytest.raises(TokbenchError, match="2 of the sources are of a hub; name the files"):
        mixture_of(corpus, files[1:2])
    with pytest.raises(TokbenchError, match="--recipe: its path names other files"):
        mixture_of(corpus, files[1:])


def test_groups_of_token_counts_are_of_one_domain_each() -> None:
    documents = [Document(number, "", b"x" * (number % 7)) for number in range(5000)]
    domains = {number: ("code", "web")[number % 3 > 0] for number in range(5000)}

    class Bytes:
        def count(self, text: bytes) -> int:
            return len(text)

    counts, _ = tokens_by_document(Bytes(), documents, domains=domains)
    assert counts["document"] == sorted(counts["document"])
    assert len(counts["document"]) == 2000
    for name in ("code", "web"):
        rows = [place for place, number in enumerate(counts["document"]) if domains[number] == name]
        expected = [len(document.text) for document in documents if domains[document.document] == name]
        assert sum(counts["documents"][row] for row in rows) == len(expected)
        assert sum(counts["tokens"][row] for row in rows) == sum(expected)
