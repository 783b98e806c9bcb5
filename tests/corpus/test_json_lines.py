"""Lines of JSON: which fields matter, nested fields, bad lines that are left out, and empty lines.

Progress lines of a run: one at the start of a job, one at its end.
"""

import gzip
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines import LogHandler
from tests.conftest import Tokbench
from tests.support.corpora import rejected, texts
from tests.support.processes import peak
from tokbench.config.experiment import Experiment
from tokbench.corpus import long_documents
from tokbench.corpus.fetch import _document
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.parallel import RECORD_PAIRS
from tokbench.corpus.parallel_read import read_pairs
from tokbench.corpus.read import mistakes_of_fields, read_source
from tokbench.corpus.reading import REMEDY, SKIP
from tokbench.corpus.sources import HubSource
from tokbench.errors import TokbenchError
from tokbench.io.encodings import Notes
from tokbench.kernels.json_fields import find_fields
from tokbench.workflow.corpora import Corpora

ODD_FIELDS = {
    "a key twice": '"n": 1, "n": 2, "o": {"text": 1, "text": 2}',
    "a long number": '"n": ' + "9" * 5000,
    "nested lists": '"n": ' + "[" * 101 + "]" * 101,
    "lists that are nested beyond Python's parser": '"n": ' + "[" * 100_000 + "]" * 100_000,
    "half of a surrogate pair": '"n": "\\ud800"',
    "no number": '"n": [NaN, -Infinity, 1e999]',
}
BAD = [
    '{"text": ',
    "[" * 100_000,
    "not JSON",
    '{"text": "a", "text": "b"}',
    '{"text": null}',
    '{"txt": "a"}',
    '{"text": "a", "language": ["en"]}',
    '{"text": "a"} {}',
    '{"text": "a\\x"}',
]


def source_of(path: Path, *lines: str, **options: Any) -> JsonLinesSource:
    path.write_text("".join(f"{line}\n" for line in lines))
    return JsonLinesSource(type="jsonl", path=[str(path)], **options)


# The fields that are read


@pytest.mark.parametrize("longest", [None, 16_000_000, 1000])
@pytest.mark.parametrize("odd", ODD_FIELDS)
def test_fields_that_are_not_read_do_not_matter(odd: str, longest: int | None, tmp_path: Path) -> None:
    source = source_of(
        tmp_path / "rows.jsonl", f'{{{ODD_FIELDS[odd]}, "text": "a", "language": "en"}}', '{"text": "b"}'
    )
    found = [(document.language, document.text) for document in read_source(source, longest=longest)]
    assert found == [("en", b"a"), ("", b"b")]


@pytest.mark.parametrize("odd", ODD_FIELDS)
def test_fields_of_pairs_that_are_not_read_do_not_matter(odd: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(f'{{{ODD_FIELDS[odd]}, "translation": {{"de": "\\u00e4", "en": null}}}}\n')
    fields = {"de": "translation.de", "en": "translation.en"}
    pairs = RECORD_PAIRS["jsonl"](type="jsonl", path=[str(path)], fields=fields)
    assert list(read_pairs(pairs, ("de", "en"))) == [("ä".encode(), b"")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"de": "a", "de": "b", "en": "c"}', "the key 'de' is given twice in one object; correct it"),
        ('{"de": "a"}', "no field 'en' (found de); name another under fields"),
        ('["de"]', "not a JSON object; correct it"),
        ('{"de": "a", "en": 1}', "no text under 'en'; correct it"),
    ],
)
def test_bad_pairs(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(TokbenchError) as error:
        list(read_pairs(RECORD_PAIRS["jsonl"](type="jsonl", path=[str(path)]), ("de", "en")))
    assert str(error.value) == f"{path}:1: {reason}"


TOKENS = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b",", b":", b'"', b" ", b"\n", b"\x00", b"\xc2\xa0"),
        *(b"0", b"-", b"12", b".5", b"e3", b"E-1", b"1e", b"true", b"tru", b"null", b"NaN", b"-Infinity"),
        *(b'"text"', b'"te\\u0078t"', b'"\\u12a"', b'"\\x"', b'"\t"', b'"\xff"', b'"\xc3\xa9"', b'"\xed\xa0\x80"'),
        *(b'{"text":', b'{"a":1}', b'["a",2]', b'"\\ud83e\\udd80"', b"\\"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "a", "é"]), inner, max_size=3),
    max_leaves=12,
)


def as_python_reads(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError:
        return ValueError


def assert_found_as_python_reads(line: bytes) -> None:
    expected = as_python_reads(line)
    if expected is ValueError:
        with pytest.raises(ValueError, match=r"^\d+$"):
            find_fields(line, 0, (b"text", b"a"))
        return
    found = find_fields(line, 0, (b"text", b"a"))
    assert (found is not None) == isinstance(expected, dict)
    for name, (times, first, last) in zip(("text", "a"), found or [], strict=False):
        assert (times > 0) == (name in expected)
        assert not times or repr(as_python_reads(line[first:last])) == repr(expected[name])


@given(st.lists(TOKENS, max_size=12).map(b"".join))
def test_json_kernel_accepts_the_same_lines_as_python(line: bytes) -> None:
    assert_found_as_python_reads(line)
    assert_found_as_python_reads(b'{"a": ' + line + b"}")


@given(VALUES, st.booleans())
def test_values_are_found_where_they_are(value: Any, escaped: bool) -> None:
    assert_found_as_python_reads(json.dumps({"a": value, "text": "b", "c": value}, ensure_ascii=escaped).encode())


@pytest.mark.parametrize("memory", [["count", "--scheme", "gpt2"], ["prepare"]])
def test_fields_that_are_not_read_need_no_memory(memory: list[str], tmp_path: Path) -> None:
    """A list of five million objects in 40 MB of text would be a gigabyte of Python's objects."""
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"x": [' + b'{"a":1},' * 5_000_000 + b'1], "text": "one two"}\n' * 1, 1))
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 1.0}}
    options = ["--recipe", json.dumps(recipe)] if memory == ["prepare"] else []
    assert peak(*memory, *options, "--memory", 500, "-o", tmp_path / "out", path) <= 500_000_000


# Nested fields


def test_dots_lead_into_objects(tmp_path: Path) -> None:
    rows = [
        {"translation": {"en": "a\u00e9", "lang": "x"}, "other": {"en": "b"}},
        {"translation.en": "literal", "translation": {"en": "nested", "lang": "y"}},
        {"translation": {"en": {"deep": 1}, "en.b": 2}, "translation.en": "c", "translation.lang": "z"},
    ]
    lines = [json.dumps(row) for row in rows]
    fields = {"text_field": "translation.en", "language_field": "translation.lang"}
    source = source_of(tmp_path / "rows.jsonl", *lines, **fields)
    expected = [("x", "aé".encode()), ("y", b"literal"), ("z", b"c")]
    assert [(document.language, document.text) for document in read_source(source)] == expected
    assert [(document.language, document.text) for document in read_source(source, longest=10)] == expected
    for line in ('{"translation": {"de": "a"}}', '{"translation": "a"}', '{"translation": [{"en": "a"}]}'):
        source = source_of(tmp_path / "rows.jsonl", line, **fields)
        there = " (found translation)" if line == '{"translation": "a"}' else ""
        message = f"{tmp_path}/rows.jsonl:1: no field 'translation.en'{there}; name another field"
        assert rejected(source).startswith(message)
    for line, key in (
        ('{"translation": {"en": "a", "en": "b"}}', "en"),
        ('{"translation": {"en": "a"}, "translation": {"en": "a"}}', "translation"),
    ):
        message = f"{tmp_path}/rows.jsonl:1: the key '{key}' is given twice in one object; {REMEDY}"
        assert rejected(source_of(tmp_path / "rows.jsonl", line, **fields)) == message


def test_dots_lead_into_structures_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = [{"en": "a", "tags": {"lang": "x"}}, {"en": "b" * 30, "tags": None}]
    pq.write_table(pa.table({"n": [1, 2], "translation": rows}), path)
    fields = {"text_field": "translation.en", "language_field": "translation.tags.lang"}
    source = ParquetSource(type="parquet", path=[str(path)], **fields)  # type: ignore[arg-type]
    for longest in (None, 20):
        found = [(document.language, document.text) for document in read_source(source, longest=longest)]
        assert found[0] == ("x", b"a")
        assert b"".join(text for _, text in found[1:]) == b"b" * 30
    pq.write_table(pa.table({"translation": rows, "translation.en": ["c", "d"]}), path)
    assert texts(ParquetSource(type="parquet", path=[str(path)], text_field="translation.en")) == [b"c", b"d"]
    for field in ("translation.de", "translation.en.x", "other.en"):
        message = rejected(ParquetSource(type="parquet", path=[str(path)], text_field=field))
        assert message == f"{path}: no column '{field}' (there are translation, translation.en)"
    pq.write_table(pa.table({"translation": [None, *rows]}), path)
    message = rejected(ParquetSource(type="parquet", path=[str(path)], text_field="translation.en"))
    assert message == f"{path}: row 1: no text under 'translation.en'; {REMEDY}"


def test_null_text_of_the_hub_is_a_bad_record() -> None:
    hub = HubSource(type="hub", dataset="a/b", revision="0" * 40)
    with pytest.raises(
        TokbenchError,
        match=re.escape(f"row 2: no text under 'text'; name another field (text_field, or --text-field), or {SKIP}"),
    ):
        _document(2, {"text": None}, hub, Notes())
    notes = Notes()
    assert _document(2, {"text": None}, hub.model_copy(update={"bad_lines": "skip"}), notes) is None
    assert notes.lines() == {"bad_records": "1 bad record left out"}


def test_languages_of_the_hub_may_be_nested() -> None:
    source = HubSource(
        type="hub", dataset="a/b", revision="0" * 40, text_field="translation.en", language_field="meta.lang"
    )
    row = {"translation": {"en": "a"}, "meta": {"lang": "eng"}}
    assert _document(1, row, source, Notes()) == ("eng", b"a")
    assert _document(1, row | {"meta.lang": "literal"}, source, Notes()) == ("literal", b"a")
    assert _document(1, {"translation": {"en": "a"}}, source, Notes()) == ("", b"a")


# Bad lines that are left out


@pytest.mark.parametrize("longest", [None, 16_000_000, 24])
def test_bad_lines_are_left_out_and_counted(
    longest: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_documents, "PART", 7)
    long = [f'{{"text": "{"a" * 40}{wrong}{"b" * 40}"}}' for wrong in ("\\x", "\t", "\\ud8g", '"')]
    lines = ['{"text": "first"}', *BAD, "", '{"text": "second"}', *long, f'{{"text": "{"c" * 60}"}}']
    source = source_of(tmp_path / "rows.jsonl", *lines, bad_lines="skip")
    notes = Notes()
    found = b"|".join(document.text for document in read_source(source, longest=longest, notes=notes))
    assert re.sub(rb"(?<=c)\|(?=c)", b"", found) == b"first|second|" + b"c" * 60
    assert notes.bad_records == len(BAD) + len(long)
    assert notes.lines() == {"bad_records": f"{len(BAD) + len(long)} bad records left out"}


def test_bad_utf8_is_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "a\xff"}\n{"text": "b"}\n{"text": "c", "n": "\xff"}\n')
    assert rejected(JsonLinesSource(type="jsonl", path=[str(path)])) == f"{path}:1: not UTF-8 (byte 11); {REMEDY}"
    assert texts(JsonLinesSource(type="jsonl", path=[str(path)], bad_lines="skip")) == [b"b"]


def test_manifest_counts_bad_and_empty_lines(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"text": "{n}\\n\\n {n}\\n"}}\n{{"txt": 1}}\n' for n in range(1500)))
    source = {"type": "jsonl", "bad_lines": "skip", "documents": "line"}
    recipe = {"source": source, "splits": {"tokenizer": 0.5, "evaluation": 0.5}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", rows)
    lines = {"bad_records": "1,500 bad records left out", "empty_lines": "1,500 empty lines left out"}
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_text()) == lines
    assert outcome.stderr.splitlines()[:2] == list(lines.values())
    sizes = tmp_path / "sizes.parquet"
    tokbench("read_sizes", "--recipe", json.dumps({"source": source}), "-o", sizes, rows)
    places = tmp_path / "places"
    outcome = tokbench("split_corpus", "--recipe", json.dumps(recipe | {"parts": 2}), "-o", places, sizes, sizes)
    assert "3,000 bad records left out" in outcome.stderr.splitlines()


def test_bad_lines_on_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "a"}\n{"txt": 1}\n')
    call = ["count", "--scheme", "gpt2", "-o", tmp_path / "counts.parquet", rows]
    assert tokbench(*call).message.endswith(SKIP)
    assert "1 bad record left out" in tokbench(*call, "--bad-lines", "skip").stderr.splitlines()


def test_no_good_line_is_a_mistake_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    source = source_of(path, '{"txt": "a"}', '{"text": "b"}', bad_lines="skip")
    assert mistakes_of_fields(source) == []
    assert mistakes_of_fields(source.model_copy(update={"text_field": "body"})) == [
        f"{path}: no record is good (2 bad ones); name the fields that it has"
    ]


@pytest.mark.parametrize("bad_lines", ["reject", "skip"])
def test_recipes_name_bad_lines_that_are_left_out(bad_lines: str, experiment: dict[str, Any], tmp_path: Path) -> None:
    source_of(tmp_path / "rows.jsonl")
    source = {"type": "jsonl", "path": str(tmp_path / "rows.jsonl"), "bad_lines": bad_lines}
    experiment["corpora"] = {"pydoc": {"source": source}}
    corpora = Corpora(Experiment.model_validate(experiment))
    named = type("Wildcards", (), {"corpus": "pydoc", "part": "0000"})
    recipes = (corpora.recipe(named), corpora.sizes_recipe(named), corpora.deal_recipe(named))
    for recipe in recipes:
        assert json.loads(recipe)["source"].get("bad_lines", "reject") == bad_lines


# Empty lines


@pytest.mark.parametrize("longest", [None, 16_000_000, 3])
def test_empty_lines_are_no_documents(longest: int | None, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"\na\n\n \t\n" + b"b\r\n\r\nc\n\n")
    notes = Notes()
    source = TextSource(type="text", path=[str(path)], documents="line")
    found = read_source(source, longest=longest, notes=notes)
    assert [document.text for document in found] == [b"a\n", b"b\r\n", b"c\n"]
    assert notes.lines() == {"empty_lines": "5 empty lines left out"}


@pytest.fixture
def handler() -> LogHandler:
    quiet = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=False, stdout=False, printshellcmds=False)
    return LogHandler(common_settings=quiet, settings=None)


def record(event: LogEvent | None, message: str = "", **told: Any) -> Any:
    return SimpleNamespace(event=event, msg=message, levelno=20, **told)


def said(handler: LogHandler, *records: Any) -> list[str]:
    """Return the printed lines of records, without the time."""
    return [line.partition("  ")[2] for one in records for line in handler.lines(one)]


def test_a_line_when_a_job_starts_and_one_when_it_ends(handler: LogHandler) -> None:
    lines = said(
        handler,
        record(LogEvent.JOB_INFO, jobid=3, rule_msg="build bpe at 400"),
        record(None, "Select jobs to execute..."),
        record(LogEvent.JOB_INFO, jobid=4, rule_msg="build unigram at 400"),
        record(LogEvent.JOB_FINISHED, job_id=3),
        record(LogEvent.PROGRESS, done=1, total=2),
    )
    assert lines == ["start  build bpe at 400", "start  build unigram at 400", "done   build bpe at 400 (0 s; 1 of 2)"]


def test_slurm_messages_are_lines_with_the_time(handler: LogHandler) -> None:
    assert said(handler, record(None, "squeue does not answer", slurm=True)) == ["slurm  squeue does not answer"]


def planned(jobs: int) -> list[str]:
    """Return the lines of a dry run."""
    dry = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=True, stdout=False, printshellcmds=False)
    handler = LogHandler(common_settings=dry, settings=None)
    table = record(LogEvent.RUN_INFO, f"Job stats: {jobs}", stats={"build": jobs, "total": jobs})
    job = record(LogEvent.JOB_INFO, jobid=1, rule_msg="build bpe at 400", reason="Missing output files: a")
    return [line for one in (table, job, table) for line in handler.lines(one)]


def test_a_dry_run_lists_few_jobs() -> None:
    table, *jobs = planned(20)
    assert table == "Job stats: 20"
    assert jobs == ["build bpe at 400", "    Missing output files: a"]
    table, hint = planned(21)
    assert table == "Job stats: 21"
    assert hint.startswith("snakemake -n -p lists each job")


def test_a_dry_run_says_why_and_not_at_any_length() -> None:
    dry = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=True, stdout=False, printshellcmds=False)
    handler = LogHandler(common_settings=dry, settings=None)
    reason = "Missing output files: " + ", ".join(f"results/{number}" for number in range(1000))
    [message, why] = handler.lines(record(LogEvent.JOB_INFO, jobid=1, rule_msg="gather the tables", reason=reason))
    assert message == "gather the tables"
    assert why.startswith("    Missing output files: results/0, results/1")
    assert len(why) < 250
    assert why.endswith("…")
