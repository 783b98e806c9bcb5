"""Every file that has no meaning without its tokenizer, text or model names it, and readers of the file compare.

All by commands, as a user calls them: only the digests identify a file.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.conftest import Tokbench
from tests.support.corpora import TINY, corpus, sentences
from tests.support.fake_results import prose
from tests.support.pipeline import call, call_in_one_process
from tests.support.small_models import SHAPE
from tokbench.corpus.parallel_prepare import prepare_parallel
from tokbench.io.identity import METADATA, Maker, TextDigest, makers_in, require_same
from tokbench.models.pretraining.checkpoints import resume_key
from tokbench.models.pretraining.phases import read_phases
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SPLITS = {"tokenizer": 0.4, "byte_lm": 0.2, "pretraining": 0.2, "evaluation": 0.2}
NGRAM = {"kind": "ngram"}
OPTIONS = SHAPE.model_copy(
    update={"second_phase": None, "batches": 2, "warmup_batches": 1, "batch": 2, "microbatch": 2}
)
RECIPE = OPTIONS.recipe()
TRANSLATION = TINY.model_copy(update={"epochs": 1, "max_tokens": 4}).model_dump_json()
ORDER = ("--seed", RECIPE["seed"])
PACKING = ("--sequence-length", 32, *ORDER)


@pytest.fixture(scope="module")
def made(offline_tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of file, of two tokenizers of one name and size, and of two texts."""
    folder = tmp_path_factory.mktemp("made")

    def run(*arguments: Any) -> None:
        call(*(str(argument) if isinstance(argument, Path) else argument for argument in arguments))

    for seed, text in enumerate(("one", "two")):
        (folder / f"{text}.txt").write_bytes(b"\n".join(prose(60 * seed + line)[:300] for line in range(60)))
        source = {"type": "text", "path": str(folder / f"{text}.txt"), "documents": "line"}
        run("prepare", "--recipe", {"source": source, "splits": SPLITS, "seed": 0, "shards": 2}, "-o", folder / text)
        for split in ("tokenizer", "evaluation"):
            shards = sorted((folder / text / split).iterdir())
            run("count", "--pretokenization", "gpt2", *shards, "-o", folder / f"{text}.{split}.parquet")
    of_text = "--counts", folder / "one.tokenizer.parquet"
    for place, text in (("A", "one"), ("B", "two")):
        counts = "--counts", folder / f"{text}.tokenizer.parquet"
        run("build", "bpe", *counts, "--size", "300", "--name", "t", "-o", folder / place)
    run("build", "bpe", *of_text, "--size", "310", "-o", folder / "longer")
    run("build", "bpe", *of_text, "--size", "300", "--name", "another name", "-o", folder / "copy")
    shards = sorted((folder / "one" / "pretraining").iterdir())
    tested = folder / "one" / "evaluation"
    for place in ("A", "B"):
        of = folder / place
        for shard in shards:
            run("encode_shard", *ORDER, of, shard, "-o", folder / f"{place}.{shard.name}")
        run("gather_tokens", "-o", folder / f"{place}.tokens", *sorted(folder.glob(f"{place}.0*.parquet")))
        run("pack_slice", *PACKING, "--slice", 0, "-o", folder / f"{place}.slice", of, folder / f"{place}.tokens")
        counts = "--token-counts", folder / f"{place}.counts.parquet"
        run("pack", *PACKING, *counts, "-o", folder / f"{place}.packed", of, folder / f"{place}.slice")
        run("measure", of, "--counts", folder / "one.evaluation.parquet", "-o", folder / f"{place}.intrinsic.json")
        speed = "--speed", folder / f"{place}.speed.json"
        run("count_tokens", of, *sorted(tested.iterdir()), *speed, "-o", folder / f"{place}.tokens.json")
        texts = ("--train", *shards, "--test", *sorted(tested.iterdir()))
        run("ngram_bits", of, "--order", 2, *texts, "-o", folder / f"{place}.ngram_bits.json")
        if place == "A":
            run("perturb", *sorted(tested.iterdir()), "-o", folder / "perturbed.parquet")
            (folder / "gold.tsv").write_text("cats\tcat @@s\t100\ndogs\tdog @@s\t100\n")
        run("measure_robustness", of, folder / "perturbed.parquet", "-o", folder / f"{place}.robustness.json")
        words = "--by-word", folder / f"{place}.words.json", folder / "gold.tsv"
        run("measure_resource", of, "--recipe", "sigmorphon2022", "-o", folder / f"{place}.gold.json", *words)
    run("measure", folder / "A", "--counts", folder / "two.evaluation.parquet", "-o", folder / "other_text.json")
    for text in ("one", "two"):
        (folder / text / "gpt2").mkdir()
        bound = "--size", 300, "--steps", 2, "--result", folder / text / "gpt2" / "300.json"
        run("bound", "--counts", folder / f"{text}.evaluation.parquet", *bound)
    for order in (2, 3):
        recipe = "--recipe", {**NGRAM, "order": order}
        run("train_byte_lm", *recipe, "-o", folder / f"lm{order}", *sorted((folder / "one" / "byte_lm").iterdir()))
        for shard in sorted((folder / "one" / "tokenizer").iterdir()):
            scores = folder / f"lm{order}.{shard.name}"
            run("score_bytes", *recipe, "--model", folder / f"lm{order}", shard, "-o", scores)
    packed = "--packed", folder / "A.packed", "--tokenizer", folder / "A"
    of_model = "--model", folder / "m" / "t" / "300", "--tokenizer", folder / "A", "--model-name", "m"
    named = "--variant", "t", "--size", "300", "--corpus", "one"
    tasks = "--tasks", offline_tasks, "--limit", 1, "--recipe", {"tasks": ["last_word"]}
    longer = "--longer", folder / "longer", "--reach", 5
    counts = "--token-counts", folder / "A.counts.parquet"
    (folder / "pairs").mkdir()
    prepare_parallel(corpus(folder, sentences(60)), 0, folder / "pairs")
    sides = "--from", "en", "--to", "de"
    both = "--source-tokenizer", folder / "A", "--target-tokenizer", folder / "B"
    translator, translated = folder / "translator", folder / "translated.parquet"
    variants = "--source-variant", "t", "--target-variant", "t", "--size", "300"
    texts = sorted(tested.iterdir())
    call_in_one_process(
        [
            ("pretrain", "--recipe", RECIPE, *packed, "-o", folder / "m" / "t" / "300"),
            ("pretrain", "--recipe", {**RECIPE, "learning_rate": 0.05}, *packed, "-o", folder / "other/m/t/300"),
            ("evaluate", *of_model, *tasks, *named, "-o", folder / "downstream.json", *texts),
            ("score_tokens", *of_model, *longer, *named, "-o", folder / "token_scores.json", *texts),
            ("measure_embeddings", *of_model, *counts, "-o", folder / "embeddings" / "m" / "t" / "300"),
            ("train_translation", "--recipe", TRANSLATION, "--corpus", folder / "pairs", *both, *sides,
             "-o", translator),
            ("translate", "--recipe", TRANSLATION, "--model", translator, *sides, "-o", translated,
             folder / "pairs" / "held.parquet"),
            ("score_translation", *sides, *variants, "-o", folder / "translation.json", translated),
        ]
    )  # fmt: skip
    return folder


Case = tuple[Sequence[str], str, str, str]
"""A command, the file that it rejects, the role of its maker, and the other file. Paths in the folder begin with @."""
BY_WORD = "--scores @lm2.0000.parquet"
MODEL = "--model @m/t/300 --tokenizer @B --model-name m"
MIXED: dict[str, Case] = {
    name: (line.split(), file, role, other)
    for name, (line, file, role, other) in {
        "shards of two tokenizers": (
            "gather_tokens @A.0000.parquet @B.0001.parquet", "B.0001.parquet", "tokenizer", "A.0000.parquet"),
        "tokens packed with another": (
            f"pack_slice --sequence-length 32 --seed {RECIPE['seed']} --slice 0 @B @A.tokens", "A.tokens", "tokenizer",
            "B"),
        "a slice joined with another": (
            f"pack --sequence-length 32 --seed {RECIPE['seed']} @B @A.slice", "A.slice", "tokenizer", "B"),
        "sequences trained on with another": (
            "pretrain --recipe RECIPE --packed @A.packed --tokenizer @B", "A.packed", "tokenizer", "B"),
        "sequences trained on with another by two processes": (
            "pretrain --recipe RECIPE --processes-per-node 2 --packed @A.packed --tokenizer @B", "A.packed",
            "tokenizer", "B"),
        "a model evaluated with another": (
            f"evaluate {MODEL} --tasks @.", "m/t/300", "tokenizer", "B"),
        "tokens scored with another": (
            f"score_tokens {MODEL} --longer @longer --reach 5 @one/evaluation/0000.parquet", "m/t/300", "tokenizer",
            "B"),
        "embeddings measured with another": (
            f"measure_embeddings {MODEL} --token-counts @A.counts.parquet", "m/t/300", "tokenizer", "B"),
        "embeddings measured with counts of another": (
            "measure_embeddings --model @m/t/300 --tokenizer @A --model-name m --token-counts @B.counts.parquet",
            "B.counts.parquet", "tokenizer", "A"),
        "scores of two byte models": (
            "build bytespan --size 800 --scores @lm2.0000.parquet --scores @lm3.0001.parquet", "lm3.0001.parquet",
            "model", "lm2.0000.parquet"),
        "scores and counts of two texts": (
            "build bytespan --size 800 --scores @lm2.0000.parquet --scores @lm2.0001.parquet "
            "--counts @two.tokenizer.parquet", "lm2.0000.parquet", "text", "two.tokenizer.parquet"),
        "scores and counts of a part of the text": (
            "build bytespan --size 800 --scores @lm2.0000.parquet --counts @one.tokenizer.parquet",
            "lm2.0000.parquet", "text", "one.tokenizer.parquet"),
        "scores drawn with another model": (
            'draw_bytes --recipe {"kind":"ngram","order":3} --model @lm3 --text abc --pretokenization gpt2 '
            "@lm2.0000.parquet", "lm2.0000.parquet", "model", "lm3"),
        **{
            f"{name} tabulated with another": (f"tabulate {option} @{file} --tokenizer @B", file, "tokenizer", "B")
            for name, option, file in (
                ("measurements", "--intrinsic", "A.intrinsic.json"),
                ("measurements on gold data", "--intrinsic", "A.gold.json"),
                ("tokens", "--tokens", "A.tokens.json"),
                ("words", "--words", "A.words.json"),
                ("n-gram bits", "--ngram-bits", "A.ngram_bits.json"),
                ("robustness", "--robustness", "A.robustness.json"),
                ("answers", "--downstream", "downstream.json"),
                ("token scores", "--token-scores", "token_scores.json"),
            )
        },
        "embeddings tabulated with another": (
            "tabulate --embeddings @embeddings/m/t/300 --tokenizer @B", "embeddings/m/t/300/measurements.json",
            "tokenizer", "B"),
        "translations tabulated with another": (
            "tabulate --translation @translation.json --tokenizer @B", "translation.json", "source tokenizer", "B"),
        "results of two tokenizers under one name": (
            "tabulate --intrinsic @A.intrinsic.json --tokens @B.tokens.json", "B.tokens.json", "tokenizer",
            "A.intrinsic.json"),
        "results of two texts under one name": (
            "tabulate --intrinsic @A.intrinsic.json --intrinsic @other_text.json", "other_text.json", "text",
            "A.intrinsic.json"),
        "answers and a bound of two texts": (
            "tabulate --downstream @downstream.json --bound @bounds/one/gpt2/300.json", "bounds/one/gpt2/300.json",
            "text", "downstream.json"),
        "answers of another model": (
            "tabulate --downstream @downstream.json --model @other/m/t/300", "downstream.json", "model",
            "other/m/t/300"),
    }.items()
}  # fmt: skip


@pytest.fixture(scope="module")
def swapped(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same files, with a bound of the other text in place of one's."""
    folder = tmp_path_factory.mktemp("swapped") / "made"
    shutil.copytree(made, folder, symlinks=True)
    shutil.copytree(folder / "two" / "gpt2", folder / "bounds" / "one" / "gpt2")
    return folder


@pytest.mark.parametrize("name", MIXED)
def test_files_of_two_makers_are_not_read_together(
    name: str, swapped: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    line, file, role, other = MIXED[name]
    words = [word.replace("@", f"{swapped}/") if word.startswith("@") else word for word in line]
    words = [json.dumps(RECIPE) if word == "RECIPE" else word for word in words]
    message = tokbench(words[0], "-o", tmp_path / "out", *words[1:]).message
    assert message.startswith(f"tokbench: {swapped / file}: made with another {role} than {swapped / other} (")
    assert "); " in message
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_is_its_content(made: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """One that was built again under another name is the same, and files of both go together."""
    tokenizers = [Tokenizer.load(made / name) for name in ("A", "copy", "B", "longer")]
    first, again, *others = (tokenizer.digest for tokenizer in tokenizers)
    assert first == again
    assert len({first, *others}) == 3
    tokenizers[0].save(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").digest == first
    shard = made / "one" / "pretraining" / "0001.parquet"
    assert tokbench("encode_shard", *ORDER, made / "copy", shard, "-o", tmp_path / "1.parquet").status == 0
    done = tokbench("gather_tokens", "-o", tmp_path / "tokens", made / "A.0000.parquet", tmp_path / "1.parquet")
    assert done.status == 0, done.stderr
    packed = tokbench("pack_slice", *PACKING, "--slice", 0, "-o", tmp_path / "s", made / "copy", tmp_path / "tokens")
    assert packed.status == 0, packed.stderr


def changed(key: str) -> Callable[[Tokenizer], Tokenizer]:
    """A tokenizer that differs in one thing."""
    vocabulary = Vocabulary((*BYTES, b"ab", b"cd"))
    values = {"vocabulary": vocabulary, "pretokenization": "gpt2", "segmentation": "greedy", "normalization": ()}
    other = {
        "vocabulary": Vocabulary((*BYTES, b"cd", b"ab")),
        "pretokenization": "cl100k",
        "segmentation": "shortest_path",
        "normalization": ("nfc",),
    }
    return Tokenizer(**values | ({key: other[key]} if key in other else {}), name=key, origin={"seed": 1})


def test_each_phase_is_part_of_a_tokenizer_s_digest() -> None:
    names = ("name", "vocabulary", "pretokenization", "segmentation", "normalization")
    assert len({changed(name).digest for name in names}) == len(names)
    assert changed("name").digest == changed("origin").digest


def test_digest_of_a_text_is_the_same_for_documents_and_counts(text: bytes, made: Path) -> None:
    """As documents in any order and number, and as counts of any pre-tokenization."""
    whole = TextDigest()
    whole.add(text)
    parts = TextDigest()
    for piece in reversed(text.split(b" ")):
        parts.add(piece)
        parts.add(b" ")
    assert parts.hexdigest() != whole.hexdigest() == _of_counts(count_pretokens([text], "gpt2"))
    parts._numbers[32] -= 1
    assert parts.hexdigest() == whole.hexdigest()
    for method in schemes.methods():
        if method.options_class is None:
            assert _of_counts(count_pretokens([text], method.name)) == whole.hexdigest(), method.name
    long = PretokenCounts.from_pairs([(b"ab" * 100_000, 3), (b"c", 1 << 40), *((b"%d" % n, n + 1) for n in range(9))])
    expected = TextDigest()
    for pretoken, count in long.items():
        for value in set(pretoken):
            expected._numbers[value] += pretoken.count(value) * count
    assert _of_counts(long) == expected.hexdigest()
    results = [json.loads((made / f"A.{name}.json").read_text()) for name in ("intrinsic", "tokens", "ngram_bits")]
    results += [
        json.loads((made / "downstream.json").read_text()),
        json.loads((made / "one/gpt2/300.json").read_text()),
    ]
    assert len({makers_in(result)["text"] for result in results}) == 1


def _of_counts(counts: PretokenCounts) -> str:
    digest = TextDigest()
    digest.add_counts(counts.data, counts.offsets, counts.counts)
    return digest.hexdigest()


def test_a_file_without_its_maker_is_rejected(made: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    for name in ("A.0000.parquet", "A.0001.parquet"):
        table = pq.ParquetFile(made / name)
        metadata = {
            key: value for key, value in table.metadata.metadata.items() if key not in (METADATA, b"ARROW:schema")
        }
        with pq.ParquetWriter(tmp_path / name, table.schema_arrow.remove_metadata()) as writer:
            writer.write_table(table.read())
            writer.add_key_value_metadata({key.decode(): value.decode() for key, value in metadata.items()})
    shards = tmp_path / "A.0000.parquet", tmp_path / "A.0001.parquet"
    message = tokbench("gather_tokens", "-o", tmp_path / "tokens", *shards).message
    assert f"{shards[1]}: does not name its tokenizer" in message
    model = tmp_path / "model"
    shutil.copytree(made / "m" / "t" / "300", model)
    config = json.loads((model / "config.json").read_text())
    assert config.pop("made_from") == {"tokenizer": Tokenizer.load(made / "A").digest}
    (model / "config.json").write_text(json.dumps(config))
    line = ["evaluate", "--model", model, "--tokenizer", made / "A", "--tasks", tmp_path]
    assert f"{model}: does not name its tokenizer" in tokbench(*line, "-o", tmp_path / "found.json").message
    with pytest.raises(Exception, match=r"^file: does not name its tokenizer; do this$"):
        require_same("file", {}, "tokenizer", Maker("", "file"), "do this")


def test_a_translation_model_with_another_s_tokenizer_does_not_translate(
    made: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    model = tmp_path / "translator"
    shutil.copytree(made / "translator", model)
    shutil.rmtree(model / "source")
    shutil.copytree(made / "B", model / "source")
    line = ["translate", "--recipe", TRANSLATION, "--model", model, "--from", "en", "--to", "de"]
    told = f"tokbench: {model}: made with another source tokenizer than {model / 'source'} ("
    assert tokbench(*line, "-o", tmp_path / "out", made / "pairs" / "held.parquet").message.startswith(told)
    line = ["measure_translation_embeddings", "--model", model, "-o", tmp_path / "out"]
    assert tokbench(*line).message.startswith(told)
    assert not (tmp_path / "out").exists()


def test_documents_of_two_corpora_are_not_packed_together(made: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    other = tmp_path / "0001.parquet"
    shard = made / "two" / "pretraining" / "0001.parquet"
    for name in ("0000", "0001"):
        assert (
            tokbench("encode_shard", *ORDER, made / "A", shard.with_stem(name), "-o", other.with_stem(name)).status == 0
        )
    shards = [made / "A.0000.parquet", made / "A.0001.parquet", other, other.with_stem("0000")]
    assert tokbench("gather_tokens", "-o", tmp_path / "tokens", *shards).status == 0
    line = ["pack_slice", *PACKING, "--slice", 0, "-o", tmp_path / "slice", made / "A", tmp_path / "tokens"]
    assert "is in two shards; gather the tokens of each shard of one corpus once" in tokbench(*line).message


def test_an_initial_vocabulary_of_another_pretokenizer_is_rejected(
    made: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    shards = sorted((made / "one" / "tokenizer").iterdir())
    counts = tmp_path / "counts.parquet"
    assert tokbench("count", "--pretokenization", "first_space", *shards, "-o", counts).status == 0
    line = ["build", "pathpiece", "--counts", counts, "--size", 280, "--initial", made / "A", "-o", tmp_path / "p"]
    why = "was built with 'gpt2', but the text with 'first_space'; build it with the same pre-tokenizer"
    assert tokbench(*line).message == f"tokbench: --initial {made / 'A'}: {why}"


def test_checkpoints_of_another_tokenizer_are_not_resumed(made: Path) -> None:
    """Even if the ids of a text are the same."""
    first, other = (read_phases(OPTIONS, made / f"{name}.packed") for name in ("A", "B"))
    assert resume_key(OPTIONS, first) != resume_key(OPTIONS, other)
    assert resume_key(OPTIONS, first)["packed"]["tokenizer"] == Tokenizer.load(made / "A").digest
