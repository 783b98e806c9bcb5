"""External tokenizers as variants: configuration, measurement, tables and marks."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import few, level, ranks, read  # noqa: F401
from tests.support.small_report import (
    accuracy,
    altered,
    answers_by_seed,
    bits_by_seed,
    intrinsic,
    ngram_documents,
    tokens_by_document,
    whole,
)
from tokbench.adapters.loss import loss_of
from tokbench.config.load import validate
from tokbench.config.targets import all_tested, all_tokenizers
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.named_tokenizers import resolve_target
from tokbench.inspection.comparison.sides import matched
from tokbench.intrinsic.tokenizer import measure_documents
from tokbench.metric.renyi import renyi_efficiency
from tokbench.optimum.gap import gap_of
from tokbench.report.answer import summary
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section, Table
from tokbench.report.external_tokenizers import ExternalTokenizers
from tokbench.report.html import sections
from tokbench.report.layout import layout
from tokbench.stage import stages
from tokbench.stages.bounds import all_bounds
from tokbench.stages.report import ExampleTargets
from tokbench.stages.tables import recipes, venn_triples
from tokbench.statistics.accuracies.ranks import averages_by_size
from tokbench.statistics.comparisons.scoreboard import scoreboard, scoreboard_families
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD
from tokbench.tabulation.external_tokenizers import IMPORTED, imported_table
from tokbench.tabulation.gathered import Gathered
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.table import make_tables
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.models import Models
from tokbench.workflow.tokenizers import Imports

HEX = "a" * 40
SPLITS = ("tokenizer", "evaluation", "pretraining")
TEXTS = [("en", TOPICS[0]), ("de", "Straße, zwölf Boxkämpfer.\n".encode() * 40), ("en", TOPICS[1])]

# The configuration


def configured(**variants: Any) -> dict[str, Any]:
    return {"name": "trial", "corpora": {"c": {"source": "embedded"}}, "variants": variants}


@pytest.mark.parametrize(
    ("variant", "pieces"),
    [
        ({"from": "tiktokn", "path": __file__}, ["x.from: 'tiktokn' is not one of", "Did you mean 'tiktoken'?"]),
        ({"form": "tekken", "path": __file__}, ["x.form: unknown key. Did you mean 'from'?"]),
        ({"from": "tekken", "pth": __file__}, ["x.pth: unknown key. Did you mean 'path'?"]),
        ({"from": "tekken"}, ["x.path: no path given; add it, or say --config x=PATH"]),
        ({"from": "tekken", "path": "nowhere"}, ["x.path: no such file or folder as 'nowhere'"]),
        ({"from": "tekken", "path": "."}, ["x.path: '.' is a folder; name the file in it"]),
        ({"from": "transformers", "path": __file__}, ["x.path: ", "not a known format"]),
        ({"from": "transformers", "path": "a/b", "revision": "main"}, ["x.revision: 'main' is not a commit"]),
        ({"from": "tekken", "path": "a/b", "revision": HEX}, ["x.revision: only from: transformers"]),
        (
            {"from": "tekken", "path": __file__, "construction": "bpe"},
            ["'from' imports a tokenizer as it is", "leave one"],
        ),
        ({"from": "tekken", "path": __file__, "sizes": [512]}, ["'sizes' applies to those that are built"]),
        (
            {"from": "tiktoken", "path": __file__},
            ["x.pattern: a file of form 'tiktoken' has no pre-tokenization pattern"],
        ),
        ({"from": "tiktoken", "path": __file__, "pattern": "cl100"}, ["x.pattern: 'cl100' is not a pattern"]),
        ({"from": "tiktoken", "path": __file__, "pattern": "(a"}, ["x.pattern: ", "is not a regular expression"]),
        ({"from": "tokens", "path": __file__, "pattern": "gpt2"}, ["x.segmentation: a list of tokens does not define"]),
        (
            {"from": "tokens", "path": __file__, "pattern": "gpt2", "segmentation": "gredy"},
            ["x.segmentation: 'gredy' is not a segmentation", "Did you mean 'greedy'?"],
        ),
        ({"from": "tekken", "path": __file__, "corpus": "d"}, ["x.corpus: 'd' is not a corpus"]),
        ({"from": "tekken", "path": __file__, "added": "all"}, ["x.added: 'all' is not one of words, text, tokens"]),
        (
            {"from": "tiktoken", "path": __file__, "pattern": "gpt2", "special_tokens": {"<s>": 7, "</s>": 7}},
            ["x.special_tokens: '<s>' and '</s>' have one id, 7; give each its own"],
        ),
        (
            {"from": "tiktoken", "path": __file__, "pattern": "gpt2", "special_tokens": {"<s>": 1 << 24}},
            ["x.special_tokens: '<s>' has the id 16777216; ids are 0 to 16777215"],
        ),
        (
            {"from": "tiktoken", "path": __file__, "pattern": "gpt2", "special_tokens": {"<s>": "7"}},
            ["x.special_tokens.<s>: must be a whole number (found '7')"],
        ),
        (
            {"from": "tiktoken", "path": __file__, "pattern": "gpt2", "special_tokens": {}},
            ["x.special_tokens: needs 1 or more entries (found {})"],
        ),
        (
            {"from": "tekken", "path": __file__, "special_tokens": {"<s>": 7}},
            ["x.special_tokens: only a file of ranks (from: tiktoken) lacks its special tokens, not 'tekken'"],
        ),
        (
            {"pretokenization": "gpt2", "constructon": "bpe"},
            ["x.constructon: unknown key. Did you mean 'construction'?"],
        ),
    ],
)
def test_mistakes_are_reported_before_any_work(variant: dict[str, Any], pieces: list[str]) -> None:
    with pytest.raises(TokbenchError) as raised:
        validate(configured(x=variant), "trial.yaml")
    assert all(piece in str(raised.value) for piece in pieces)
    assert "sizes: this key" not in str(raised.value) or "pretokenization" in variant


def test_no_size_is_asked_of_it() -> None:
    values = configured(x={"from": "tekken", "path": __file__})
    experiment = validate(values, "trial.yaml")
    assert experiment.sizes_of("x") == ["own"]
    assert all_tokenizers(experiment) == [("x", "own")]
    assert (all_bounds(experiment), venn_triples(experiment)) == ([], [])
    assert ExampleTargets(experiment).tokenizers == [("x", "own")]
    assert recipes(experiment)["variants"] == {"x": {"corpus": "c", "from": "tekken"}}
    built = {"pretokenization": "gpt2", "construction": "bpe"}
    both = validate(configured(x=values["variants"]["x"], y=built) | {"sizes": [300]}, "trial.yaml")
    assert recipes(both)["variants"]["y"]["pretokenizer"] == "gpt2"
    with pytest.raises(TokbenchError, match="sizes: this key is missing; add it"):
        validate(configured(x=values["variants"]["x"], y=built), "trial.yaml")


def test_a_default_segmentation_takes_options_of_the_construction() -> None:
    construction = {"method": "pathpiece", "ties": "random", "max_token_bytes": 8}
    experiment = validate(
        configured(y={"pretokenization": "gpt2", "construction": construction}) | {"sizes": [300]}, "x"
    )
    segmentation = recipes(experiment)["variants"]["y"]["segmentation"]
    assert (segmentation["method"], segmentation["ties"], segmentation["max_token_bytes"]) == (
        "shortest_path",
        "random",
        8,
    )


def test_its_path_may_come_from_the_command_line() -> None:
    experiment = validate(configured(x={"from": "tekken"}) | {"x": __file__}, "trial.yaml")
    assert experiment.external["x"].path == __file__


def test_runs_take_it_at_its_own_size() -> None:
    """Beside variants that are built, whose sizes a run may name; its memory is that of the largest there are."""
    values = configured(
        x={"from": "tekken", "path": __file__}, y={"pretokenization": "gpt2", "construction": "bpe"}
    ) | {
        "sizes": [300, 500],
        "models": {"tiny": "tiny"},
        "suites": {"offline": "offline"},
        "runs": [{"models": ["tiny"], "variants": ["x", "y"], "sizes": [300], "suites": ["offline"]}],
    }
    values["corpora"]["c"] = {"source": "embedded", "splits": dict.fromkeys(SPLITS, 0.3)}
    experiment = validate(values, "trial.yaml")
    assert all_tested(experiment) == [("tiny", "x", "own", "offline"), ("tiny", "y", 300, "offline")]
    asked = Models(experiment)
    own, built = (
        SimpleNamespace(model="tiny", variant=variant, size=size) for variant, size in (("x", "own"), ("y", "300"))
    )
    assert asked.corpus(own) == asked.corpus(built) == "c"
    assert asked.training_memory(own, 1) > 2 * asked.training_memory(built, 1)
    with pytest.raises(TokbenchError, match="'y' is not built at 400; choose among 300, 500"):
        validate(values | {"runs": [values["runs"][0] | {"sizes": [400]}]}, "trial.yaml")


def test_rules_have_files_of_external_tokenizers_as_inputs(tmp_path: Path) -> None:
    """Files are inputs one by one, so that another file in a folder reruns nothing; the hub's are fetched."""
    for name in ("merges.txt", "vocab.json", "weights.bin", "exported/tokenizer.tiktoken", "exported/tiktoken.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    hub = {"from": "transformers", "path": "a/b", "revision": HEX}
    experiment = validate(
        configured(
            file={"from": "merges", "path": str(tmp_path / "merges.txt")},
            folder={"from": "transformers", "path": str(tmp_path)},
            ranks={
                "from": "tiktoken",
                "path": __file__,
                "pattern": " ?\\w+",
                "added": "text",
                "special_tokens": {"<a b>": 501, "<s>": 500},
                "end_of_text": "<s>",
            },
            exported={"from": "tiktoken", "path": str(tmp_path / "exported" / "tokenizer.tiktoken")},
            hub=hub,
        ),
        "trial.yaml",
    )
    imports = Imports(experiment)

    class On:
        def __init__(self, variant: str) -> None:
            self.variant, self.digest, self.fetched = variant, "", "fetched/folder"

    assert imports.files(On("file")) == [str(tmp_path / "merges.txt"), str(tmp_path / "vocab.json")]
    assert imports.files(On("folder")) == [str(tmp_path / "merges.txt"), str(tmp_path / "vocab.json")]
    assert imports.path(On("folder"), On("folder")) == str(tmp_path)
    settings = made.written(tmp_path / "tokenizer_config.json", {"eos_token": "</s>"})
    assert imports.files(On("folder"))[1] == str(settings)
    flags = ["--from=tiktoken", "--pattern= ?\\w+", "--added=text", "--end-of-text=<s>"]
    flags += ["--special=<s>=500", "--special=<a b>=501"]
    assert imports.options(On("ranks")) == flags
    beside = [str(tmp_path / "exported" / name) for name in ("tokenizer.tiktoken", "tiktoken.json")]
    assert (imports.files(On("exported")), imports.files(On("ranks"))) == (beside, [__file__])
    assert (imports.files(On("hub")), imports.path(On("hub"), On("hub"))) == ([], "fetched/folder")
    on = On("hub")
    [on.digest] = imports.digest(on)
    assert json.loads(imports.fetch_recipe(on)) == {"path": "a/b", "revision": HEX}
    codes = [stages["import"].code(experiment, On(name)) for name in ("file", "ranks")]
    assert fingerprint(*codes[0]) != fingerprint(*codes[1])


def test_a_fetched_tokenizer_says_which_it_is(
    level: dict[str, Any], tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(name: str, *, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        made.written(Path(local_dir) / "tokenizer.json", level)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
    recipe = json.dumps({"path": "some/model", "revision": HEX})
    assert tokbench("fetch_tokenizer", "--recipe", recipe, "-o", tmp_path / "fetched").status == 0
    monkeypatch.undo()
    assert tokbench("import", tmp_path / "fetched", "--from=transformers", "-o", tmp_path / "own").status == 0
    imported = Tokenizer.load(tmp_path / "own").origin["imported"]
    assert (imported["file"], imported["options"]["revision"]) == ("some/model", HEX)
    short = json.dumps({"path": "some/model", "revision": "main"})
    assert "'main' is not a commit" in tokbench("fetch_tokenizer", "--recipe", short, "-o", tmp_path / "f").message


# Measures


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """One that works through another library: it puts a space before texts and takes lines for blanks."""
    pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("pieces")
    made.written(folder / "tiny.model", made.sentencepiece_model())
    tokenizer = read(folder / "tiny.model", "sentencepiece")
    tokenizer.name = "pieces"
    tokenizer.origin["imported"]["loss"] = loss_of(tokenizer, [text for _, text in TEXTS]).record()
    tokenizer.save(folder / "pieces" / "own")
    return Tokenizer.load(folder / "pieces" / "own")


@pytest.fixture(scope="module")
def native(ranks: dict[bytes, int], tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("native")
    made.written(folder / "tiny.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(folder / "tiny.tiktoken", "tiktoken", pattern="gpt2")
    tokenizer.name = "native"
    tokenizer.origin["imported"]["loss"] = loss_of(tokenizer, [text for _, text in TEXTS]).record()
    tokenizer.save(folder / "native" / "own")
    return Tokenizer.load(folder / "native" / "own")


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    rows = [{"language": language, "text": text.decode()} for language, text in TEXTS]
    pl.DataFrame(rows).write_parquet(tmp_path / "text.parquet")
    return tmp_path / "text.parquet"


def measured(tokbench: Tokbench, folder: Path, *more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tokbench("measure", folder, *more, "--corpus", "c").stdout)
    return found


def test_a_native_one_is_measured_as_if_it_were_counted(
    native: Tokenizer, tmp_path: Path, shard: Path, tokbench: Tokbench
) -> None:
    native.save(tmp_path / "own")
    tokbench("count", "--scheme", "gpt2", shard, "-o", tmp_path / "counts.parquet", "--language-field", "language")
    counted = measured(tokbench, tmp_path / "own", "--counts", tmp_path / "counts.parquet")
    assert measured(tokbench, tmp_path / "own", "--documents", shard, "--only-counts") == counted
    every = measured(tokbench, tmp_path / "own", "--documents", shard)["measurements"]
    assert every[: len(counted["measurements"])] == counted["measurements"]
    assert "bigram_entropy" in {row["metric"] for row in every}
    assert counted["size"] == len(native) == 420
    assert "pass --counts or --documents" in tokbench("measure", tmp_path / "own").message


def test_measurements_count_text_that_is_not_restored(
    native: Tokenizer, pieces: Tokenizer, tmp_path: Path, shard: Path, tokbench: Tokbench
) -> None:
    for tokenizer in (native, pieces):
        tokenizer.save(tmp_path / tokenizer.name)
    assert "loss" not in measured(tokbench, tmp_path / "native", "--documents", shard)
    lost = sum(pieces.decode(pieces.encode(text)) != text for _, text in TEXTS)
    found = measured(tokbench, tmp_path / "pieces", "--documents", shard)
    assert found["loss"] == {"documents": len(TEXTS), "documents_changed": lost}
    assert lost > 0


def test_an_adapted_one_has_the_same_rows_with_reasons(pieces: Tokenizer, native: Tokenizer) -> None:
    """Tokens, bytes and frequencies are those of the documents as given; all else says why it is missing."""
    found = measure_documents(pieces, iter(TEXTS), families={})
    values = {(language, row.metric, row.definition): row for language, row in found}
    ids = {language: [pieces.encode(text) for tag, text in TEXTS if tag == language] for language in ("de", "en")}
    tokens = {language: sum(map(len, own)) for language, own in ids.items()}
    total, size = sum(tokens.values()), sum(len(text) for _, text in TEXTS)

    def value(metric: str, language: str = "", part: str = "") -> float | None:
        [row] = [row for (tag, name, what), row in values.items() if (tag, name) == (language, metric) and part in what]
        return row.value

    assert value("corpus_token_count") == total
    assert value("bytes_per_token") == size / total
    assert value("corpus_token_count", "de") == tokens["de"]
    assert value("parity_range") == max(tokens.values()) / min(tokens.values())
    frequencies = Counter(one for own in ids.values() for text in own for one in text.tolist())
    expected = renyi_efficiency(pl.Series(list(frequencies.values())).to_numpy(), 2.5, len(pieces))
    assert value("renyi_efficiency_2.5", part="nominal") == pytest.approx(expected, rel=1e-12)
    breaks = sum(text.count(b" ") + text.count(b"\n") for _, text in TEXTS)
    assert value("fertility", part="line feeds") == total / breaks
    assert value("vocabulary_size") == len(pieces)
    assert value("whole_word_share", part="/ tokens of the vocabulary") is None
    assert value("single_token_word_share") is not None
    assert {row.reason for row in values.values() if row.value is None} == {
        "it is defined over pre-tokens, and those of sentencepiece are not known",
        "the vocabulary has no continuation forms: its tokens match anywhere",
        "the vocabulary keeps no record of removals",
        "the text has no such character",
        "120 of 120 words are left out, because tokens change their text",
    }
    theirs = measure_documents(native, iter(TEXTS), families={})
    assert [(language, row.metric, row.definition) for language, row in theirs] == list(values)


def test_an_adapted_one_names_all_that_others_have(
    pieces: Tokenizer, native: Tokenizer, tmp_path: Path, shard: Path, tokbench: Tokbench
) -> None:
    names = []
    (tmp_path / "ladec.csv").write_text("c1,c2,stim,correctParse\nbook,shop,bookshop,yes\nsun,set,sunset,yes\n")
    for tokenizer in (native, pieces):
        tokenizer.save(tmp_path / "own")
        line = ("measure_resource", tmp_path / "own", "--recipe", "ladec", tmp_path / "ladec.csv")
        rows = measured(tokbench, tmp_path / "own", "--documents", shard)["measurements"]
        rows += json.loads(tokbench(*line).stdout)["measurements"]
        names.append([(row["language"], row["metric"], row["definition"]) for row in rows])
    assert names[0] == names[1]
    words = [row for row in rows if row["metric"].startswith("morphological")]
    assert any(row["value"] is not None for row in words)


# Tables


@pytest.fixture
def gathered(native: Tokenizer, pieces: Tokenizer, shard: Path, tmp_path: Path, tokbench: Tokbench) -> Gathered:
    places = []
    for tokenizer in (native, pieces):
        folder = tmp_path / "tokenizers" / tokenizer.name / "own"
        tokenizer.save(folder)
        places.append(folder)
        tokbench("measure", folder, "--documents", shard, "--corpus", "c", "-o", tmp_path / f"{tokenizer.name}.json")
    files = tuple(str(tmp_path / f"{folder.parent.name}.json") for folder in places)
    return Gathered({"intrinsic": files, "tokenizer": list(map(str, places))}, {"c": "native"})


def test_tables(gathered: Gathered, pieces: Tokenizer) -> None:
    made_of = {table.name: frame for table, frame in make_tables([IMPORTED, INTRINSIC], gathered).items()}
    rows = {row["variant"]: row for row in made_of["imported"].iter_rows(named=True)}
    assert rows["native"]["works_through"] == "our three phases"
    assert "ids equal those of tiktoken on" in rows["native"]["why"]
    assert (rows["native"]["size"], rows["native"]["documents"], rows["native"]["documents_changed"]) == (420, 3, 0)
    assert (rows["pieces"]["works_through"], rows["pieces"]["size"]) == ("sentencepiece", len(pieces))
    assert rows["pieces"]["documents_changed"] == 3
    assert {name: row["pretokenization"] for name, row in rows.items()} == {"native": "gpt2", "pieces": "pieces's own"}
    assert rows["pieces"]["ids"] == pieces.id_limit
    table = made_of["intrinsic"].filter(language="")
    both = [set(table.filter(variant=name).select("metric", "definition").rows()) for name in ("native", "pieces")]
    assert both[0] == both[1]
    gap = table.filter(metric="gap")["reason"].to_list()
    assert "no lower bound was proven for pre-tokens by “gpt2” at this size" in gap
    assert "it is defined over pre-tokens, and those of sentencepiece are not known" in gap
    by_pattern = Tokenizer(Vocabulary(BYTES), {"method": "regex", "pattern": "a|[^a]"}, "greedy")
    reason = gap_of(1, 256, by_pattern, None).reason
    assert reason == "no lower bound was proven for pre-tokens by “regex (pattern a|[^a])” at this size"


def test_pretokenizers_are_those_of_recipes_and_of_imported_tokenizers(gathered: Gathered, tmp_path: Path) -> None:
    imported_table(gathered.tokenizers).write_parquet(tmp_path / "imported.parquet")
    digits = {"method": "regex", "pattern": "a|[^a]"}
    cut = {"pretokenization": digits, "pretokenizer": "regex (pattern a|[^a])"}
    variants = {"bpe": {"pretokenization": "first_space"}, "cut": cut, "native": {"from": "x"}}
    assert StatisticsInputs(tmp_path, {"variants": variants}).pretokenizers_of_all == {
        "bpe": "first_space", "cut": "regex (pattern a|[^a])", "native": "gpt2", "pieces": "pieces's own",
    }  # fmt: skip


def test_lossy_ones_are_not_tested(tmp_path: Path) -> None:
    documents = ngram_documents()
    lossy = documents["variant"][0]
    documents.with_columns(bytes_lost=(pl.col("variant") == lossy).cast(pl.Int64)).write_parquet(
        tmp_path / "ngram_documents.parquet"
    )
    kept = StatisticsInputs(tmp_path, {}).ngram_documents
    assert kept.height == documents.filter(pl.col("variant") != lossy).height < documents.height


# The report


@pytest.fixture
def content(gathered: Gathered) -> ReportContent:
    """The small report, of whose variants one is native and one works through another library."""
    renamed = pl.col("variant").replace({"native": "unigram_greedy", "pieces": "sage"})
    imported = imported_table(gathered.tokenizers).with_columns(renamed)
    documents = (tokens_by_document(), ngram_documents(), bits_by_seed())
    words = pl.DataFrame(schema=ALIGNMENT_BY_WORD.schema)
    averages = averages_by_size(accuracy())
    families = scoreboard_families(intrinsic(), imported, *documents, averages, answers_by_seed(), words, {}, {})
    board = scoreboard(families, {}, {})
    return altered(whole(), imported=imported, scoreboard=board)


def test_every_number_is_marked(content: ReportContent) -> None:
    """By a sign at its variant and a note below, never as the best; figures say it in their captions."""
    shown = [exhibit for section in sections(content) for exhibit in section.exhibits]
    checked = 0
    for table in (one for one in shown if isinstance(one, Table)):
        rows = layout(table).rows
        for name in (
            {"variant", "a", "b"} & {column.name for column in table.printed_columns}
            if table.name != "imported"
            else ()
        ):
            place = [column.name for column in table.printed_columns].index(name)
            for index, variant in enumerate(table.frame[name].to_list()):
                expected = {"unigram_greedy": "*", "sage": "†"}.get(variant, "")
                assert rows[index][place].mark == expected
                assert rows[index][place].path == (variant if expected else "")
                if expected == "†":
                    checked += 1
                    assert any(note.startswith("† sage: external tokenizer") for note in table.notes)
                    assert any("3 of 3 documents changed" in note for note in table.notes)
                    assert not any(cell.best for cell in rows[index])
    assert checked
    captions = [one.caption for one in shown if isinstance(one, Drawing)]
    assert any("* External tokenizer" in caption and "† sage: external tokenizer" in caption for caption in captions)
    section = Section("intrinsic", "Intrinsic measures")
    assert ExternalTokenizers(altered(whole(), imported=None)).add_notes(section) is section


def test_summary_names_lossy_tokenizers(content: ReportContent) -> None:
    assert ExternalTokenizers(content).lossy == {"sage"}
    assert any("because they lose text: sage" in line for line in summary(content))


def test_comparing_by_name(native: Tokenizer, pieces: Tokenizer, tmp_path: Path) -> None:
    """A variant's own size is that of its tables."""
    for tokenizer in (native, pieces):
        tokenizer.save(tmp_path / "tokenizers" / tokenizer.name / "own")
    results = str(tmp_path)
    for name in ("native", "native/own", str(tmp_path / "tokenizers" / "native" / "own")):
        found = resolve_target(name, results)
        assert (found.name, list(found.folders), found.results) == ("native", [420], tmp_path)
    assert matched(resolve_target("native", results), resolve_target("pieces", results)) == [(420, len(pieces))]
    with pytest.raises(TokbenchError, match="native has the sizes 420"):
        resolve_target("native/512", results)
