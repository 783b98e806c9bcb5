"""Local suites: file formats, their tasks for lm-eval, and rejected files."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from pydantic import ValidationError

from tests.conftest import Tokbench
from tests.support.external_tokenizers import DATA, needs
from tests.support.fake_results import rows, stub
from tokbench.config.load import validate
from tokbench.errors import TokbenchError
from tokbench.evaluation.local_tasks import FORMS, read_minimal_pairs, task_files, write_local_tasks
from tokbench.evaluation.suites import LocalTask, SuiteOptions, local_tasks, named_suite, named_suites
from tokbench.workflow.models import Suites

QUESTIONS = DATA / "multiple_choice"
FILES = {
    "choices": '{"query": "2 + 2 = ", "choices": ["3", "4"], "gold": 1}\n\n{"query":"1", "choices": [1, 2], "gold": 0}',
    "schemas": '{"context_options": ["Ann", "Bob "], "continuation": "ran.", "gold": 1}\n',
    "completions": '{"context": "He said ", "continuation": "no", "category": "x"}\n',
    "mmlu": 'question,choice0,choice1,choice2,choice3,answer\n"Why, ""now""?\nSay.",a,b,c,d,2\nWhen?,a,b,c,d,A\n',
    "winograd": (
        "The cup fell on Ann because [MASK]  was full. \n[MASK]\nThe cup , Ann\nThe cup \n\n\n"
        "The cook met a man. [MASK] 's hat fell.\n[MASK]\ncook,man\ncook"
    ),
    "minimal_pairs": '{"sentence_good": "We go.", "sentence_bad": "We goes.", "UID": "agreement"}\n' * 2,
}
READ = {
    "choices": [
        (1, {"context": "2 + 2 =", "choices": ["3", "4"], "gold": 1, "group": ""}),
        (3, {"context": "1", "choices": ["1", "2"], "gold": 0, "group": ""}),
    ],
    "schemas": [(1, {"openings": ["Ann", "Bob"], "ending": " ran.", "gold": 1, "group": ""})],
    "completions": [(1, {"context": "He said", "continuation": " no", "group": "x"})],
    "mmlu": [
        (
            2,
            {
                "context": 'Why, "now"?\nSay.\nA. a\nB. b\nC. c\nD. d\nAnswer:',
                "choices": ["A", "B", "C", "D"],
                "gold": 2,
                "group": "",
            },
        ),
        (
            3,
            {
                "context": "When?\nA. a\nB. b\nC. c\nD. d\nAnswer:",
                "choices": ["A", "B", "C", "D"],
                "gold": 0,
                "group": "",
            },
        ),
    ],
    "winograd": [
        (
            1,
            {
                "openings": ["The cup fell on Ann because Ann", "The cup fell on Ann because the cup"],
                "ending": " was full.",
                "gold": 1,
                "group": "",
            },
        ),
        (
            7,
            {
                "openings": ["The cook met a man. The cook", "The cook met a man. man"],
                "ending": "'s hat fell.",
                "gold": 0,
                "group": "",
            },
        ),
    ],
    "minimal_pairs": [
        (1, {"context": "", "choices": ["We go.", "We goes."], "gold": 0, "group": "agreement"}),
        (2, {"context": "", "choices": ["We goes.", "We go."], "gold": 1, "group": "agreement"}),
    ],
}
SPOILT = [
    ("choices", "[]", "record 1: an object is expected"),
    ("choices", '{"query": "a", "choices": ["b"], "gold": 1}', "record 1: gold is 1, but there are 1 choices"),
    ("choices", '{"query": "a", "gold": 1}', "record 1: no key 'choices' with a value of type list"),
    ("choices", '{"query": "a", "choices": ["b", null], "gold": 0}', "record 1: choices 2 is not text (found None)"),
    ("choices", '{"query": "a", "choices": [true], "gold": 0}', "record 1: choices 1 is not text (found True)"),
    ("schemas", '{"context_options": ["b", []], "continuation": "c", "gold": 0}', "context_options 2 is not text"),
    ("completions", '{"context": "a"}\n{', "record 1: no key 'continuation'"),
    ("mmlu", "q,a,b,c,d,E", "record 1: a question, four answers and one of A"),
    ("mmlu", "q,a,b,c,1", "record 1: a question, four answers and one of A"),
    ("mmlu", f"q,a,b,c,d,A\n{'q' * 200_000},a,b,c,d,A", "record 2: not CSV (field larger than field limit (131072))"),
    ("winograd", "\nno mask\n[MASK]\na,b\na", "record at line 2: a text with one"),
    ("winograd", "[MASK] ran.\n[MASK]\na,b\nc", "record at line 1: 'c' is not a candidate"),
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(form: str) -> None:
    assert list(FORMS[form].read(FILES[form])) == READ[form]


@pytest.mark.parametrize(("form", "text", "message"), SPOILT)
def test_spoilt_records_are_named(form: str, text: str, message: str) -> None:
    with pytest.raises(TokbenchError) as rejection:
        list(FORMS[form].read(text))
    assert message in str(rejection.value)


UNANSWERABLE = [
    ("choices", '{"query": "a", "choices": ["b", "c", "b "], "gold": 0}', "the right choice equals another ('b')"),
    ("choices", '{"query": "a", "choices": ["b", " "], "gold": 0}', "a choice is empty"),
    ("choices", '{"query": "a", "choices": ["b"], "gold": 0}', "there is one choice only, so every answer is right"),
    ("schemas", '{"context_options": ["a"], "continuation": "b", "gold": 0}', "there is one choice only"),
    ("minimal_pairs", '{"sentence_good": "We go.", "sentence_bad": "We go."}', "the right choice equals another"),
    ("schemas", '{"context_options": ["a", "a"], "continuation": "b", "gold": 0}', "the right choice equals another"),
    ("schemas", '{"context_options": ["a", "b"], "continuation": " ", "gold": 0}', "the ending is empty"),
    ("completions", '{"context": "a", "continuation": ""}', "the continuation is empty"),
    ("winograd", "[MASK] ran.\n[MASK]\na,a\na", "the right choice equals another"),
]


@pytest.mark.parametrize(("form", "text", "message"), UNANSWERABLE)
def test_questions_without_an_answer_are_rejected_or_left_out(
    form: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(f"{text}\n\n{FILES[form]}")

    def suite(**more: str) -> SuiteOptions:
        task = LocalTask.model_validate({"format": form, "file": "a.txt", **more})
        return SuiteOptions(source="local", tasks=("a",), files={"a": task}, path=tmp_path)

    with pytest.raises(TokbenchError, match=r"a\.txt, record 1: .*'bad_records: skip'") as rejection:
        write_local_tasks(suite(), tmp_path / "tasks")
    assert message in str(rejection.value)
    assert write_local_tasks(suite(bad_records="skip"), tmp_path / "tasks") == {"a": (len(READ[form]), 1)}
    assert json.loads((tmp_path / "tasks" / "tasks.json").read_text())["skipped"] == {"a": 1}


def test_equal_wrong_choices_are_kept(tmp_path: Path) -> None:
    """ARC has some; which of them scores higher changes no result."""
    (tmp_path / "a.txt").write_text('{"query": "a", "choices": ["b", "b", "c"], "gold": 2}')
    files = {"a": LocalTask(format="choices", file="a.txt")}
    suite = SuiteOptions(source="local", tasks=("a",), files=files, path=tmp_path)
    assert write_local_tasks(suite, tmp_path / "tasks") == {"a": (1, 0)}


def test_a_description_is_no_template() -> None:
    with pytest.raises(ValidationError, match="lm-eval reads"):
        LocalTask(format="choices", file="a.txt", description="{{ 1 }}")


def own(folder: Path, compress: bool = False) -> SuiteOptions:
    """A suite of one task of each form, its files in a folder."""
    files = {}
    for form, text in FILES.items():
        name = f"{form}.txt.gz" if compress else f"{form}.txt"
        (folder / name).write_bytes(gzip.compress(text.encode()) if compress else text.encode())
        files[form] = LocalTask(format=form, file=name, ending="!" if form == "choices" else "")  # type: ignore[arg-type]
    return SuiteOptions(source="local", tasks=tuple(files), files=files, path=folder, num_fewshot=0)


@pytest.mark.parametrize("compress", [False, True])
def test_tasks_are_written_from_files(tmp_path: Path, compress: bool) -> None:
    suite = own(tmp_path, compress)
    assert write_local_tasks(suite, tmp_path / "tasks") == {form: (len(READ[form]), 0) for form in FORMS}
    first = rows(tmp_path / "tasks" / "choices.test.jsonl")[0]
    assert first == {"file": suite.files["choices"].file, "record": 1, **READ["choices"][0][1], "context": "2 + 2 =!"}
    assert [path.name for path in task_files(suite)] == [suite.files[form].file for form in FORMS]


def test_groups_take_turns(tmp_path: Path) -> None:
    pairs = [{"sentence_good": f"{uid}{n}", "sentence_bad": "x", "UID": uid} for uid in "ab" for n in range(3)]
    (tmp_path / "blimp.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    suite = SuiteOptions(source="local", tasks=("blimp",), path=tmp_path)
    write_local_tasks(suite, tmp_path / "tasks")
    assert [row["group"] for row in rows(tmp_path / "tasks" / "blimp.test.jsonl")] == list("ababab")


def test_good_sentences_alternate_between_first_and_second() -> None:
    read = read_minimal_pairs('{"sentence_good": "We go.", "sentence_bad": "We goes."}\n' * 4)
    assert [row["choices"].index("We go.") for _, row in read] == [0, 1, 0, 1]


def test_lm_eval_asks_the_questions_of_the_files(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    suite = own(tmp_path)
    write_local_tasks(suite, tmp_path / "tasks")
    asked: list[tuple[str, str]] = []
    lm = stub(lambda context, choice: asked.append((context, choice)) or -float(len(choice)))
    result = evaluate_suite(lm, suite, tmp_path / "tasks")
    assert set(asked) >= {
        ("2 + 2 =!", " 3"),
        ("2 + 2 =!", " 4"),
        ("Bob", " ran."),
        ("He said", " no"),
        ("", " We go."),
        ("The cup fell on Ann because the cup", " was full."),
        ("The cook met a man. The cook", "'s hat fell."),
    }
    assert result["tasks"]["mmlu"]["random_baseline"] == 0.25
    assert result["tasks"]["completions"]["random_baseline"] == 0
    pairs = result["tasks"]["minimal_pairs"]
    assert (pairs["accuracy"], [one["gold"] for one in pairs["documents"]]) == (1, [0, 1])
    assert {(one["group"], one["record"]) for one in pairs["documents"]} == {("agreement", 1), ("agreement", 2)}
    assert pairs["documents"][0]["characters"] == [6, 8]


def test_examples_come_from_their_own_file(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    (tmp_path / "dev.csv").write_text("First?,a,b,c,d,B\nSecond?,a,b,c,d,C\n")
    (tmp_path / "test.csv").write_text(FILES["mmlu"])
    task = LocalTask(format="mmlu", file="test.csv", fewshot_file="dev.csv", description="About.\n\n")
    suite = SuiteOptions(source="local", tasks=("own",), files={"own": task}, path=tmp_path, num_fewshot=1)
    write_local_tasks(suite, tmp_path / "tasks")
    asked: list[str] = []
    evaluate_suite(stub(lambda context, choice: asked.append(context) or 0.0), suite, tmp_path / "tasks")
    example = "About.\n\nFirst?\nA. a\nB. b\nC. c\nD. d\nAnswer: B\n\n"
    assert set(asked) == {example + row["context"] for _, row in READ["mmlu"]}


@pytest.mark.parametrize("fewshot_file", [None, "dev.csv"])
def test_too_few_questions_for_examples_are_rejected_when_they_are_imported(
    fewshot_file: str | None, tmp_path: Path
) -> None:
    for name in ("test.csv", "dev.csv"):
        (tmp_path / name).write_text("First?,a,b,c,d,B\nSecond?,a,b,c,d,C\n")
    task = LocalTask(format="mmlu", file="test.csv", fewshot_file=fewshot_file)
    enough = 2 if fewshot_file else 1
    suite = SuiteOptions(source="local", tasks=("own",), files={"own": task}, path=tmp_path, num_fewshot=enough)
    write_local_tasks(suite, tmp_path / "tasks")
    more = suite.model_copy(update={"num_fewshot": enough + 1})
    line = f"{fewshot_file or 'test.csv'}: {enough} questions of the task 'own' are left for examples, and num_fewshot"
    with pytest.raises(TokbenchError, match=re.escape(line)):
        write_local_tasks(more, tmp_path / "more")
    assert not (tmp_path / "more").exists()


def test_mistakes_of_local_suites(tmp_path: Path, tokbench: Tokbench) -> None:
    with pytest.raises(ValidationError, match="Did you mean 'piqa'"):
        SuiteOptions(source="local", tasks=("pika",))
    with pytest.raises(ValidationError, match="path: has no effect in a suite whose source is 'hub'"):
        SuiteOptions(source="hub", tasks=("piqa",), path=tmp_path)
    with pytest.raises(ValidationError, match="revisions: has no effect"):
        SuiteOptions(source="local", tasks=("piqa",), revisions={"baber/piqa": "0" * 40})
    with pytest.raises(TokbenchError, match=r"no file 'llm_foundry/piqa\.jsonl\*' of the task 'piqa'"):
        task_files(SuiteOptions(source="local", tasks=("piqa",), path=tmp_path))
    with pytest.raises(TokbenchError, match="path: a local suite needs the folder"):
        task_files(named_suite("local"))
    (tmp_path / "blimp.jsonl").write_text("{}\n")
    arguments = "import_tasks", "--recipe", "blimp_local", "--path", tmp_path, "-o", tmp_path / "tasks"
    assert "blimp.jsonl, record 1: no key 'sentence_good'" in tokbench(*arguments).message
    assert not (tmp_path / "tasks").exists()
    assert "its source is 'hub'" in tokbench("import_tasks", "--recipe", "blimp", "-o", tmp_path / "t").message


def test_named_suites_use_known_tasks() -> None:
    assert set(named_suite("local").tasks) == set(local_tasks())
    for name in ("tokenization_is_more_than_compression", "a_partition_cover_approach_to_tokenization"):
        whole, local = named_suites()[name], named_suites()[f"{name}_local"]
        for task in local.tasks:
            assert local.settings(task).metric == whole.settings(task).metric, task
            assert (local.settings(task).num_fewshot or 0) == (whole.settings(task).num_fewshot or 0), task


@needs(QUESTIONS)
def test_every_known_set_is_read(tmp_path: Path) -> None:
    suite = named_suite("local").model_copy(update={"path": QUESTIONS})
    questions = write_local_tasks(suite, tmp_path / "tasks")
    assert {name: questions[name] for name in ("arc_easy", "blimp", "lambada_openai", "mmlu_sociology", "wsc273")} == {
        "arc_easy": (2376, 0),
        "blimp": (10049, 1),
        "lambada_openai": (5153, 0),
        "mmlu_sociology": (201, 0),
        "wsc273": (273, 0),
    }
    paradigms = Counter(row["group"] for row in rows(tmp_path / "tasks" / "blimp.test.jsonl")[:670])
    assert set(paradigms.values()) == {10}
    assert len(paradigms) == 67
    same = [row["openings"] for row in rows(tmp_path / "tasks" / "wsc273.test.jsonl")]
    other = [row["openings"] for row in rows(tmp_path / "tasks" / "winograd_wsc.test.jsonl")]
    assert sum(sorted(a) == sorted(b) for a, b in zip(same, other, strict=True)) > 200


def test_a_local_suite_in_a_configuration(tmp_path: Path) -> None:
    values = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())
    values["suites"]["pairs"] = "blimp_local"
    values["runs"][0]["suites"].append("pairs")
    with pytest.raises(TokbenchError, match=r"suites\.pairs\.path: no path given; .* --config pairs=PATH"):
        validate(values, "mine.yaml")
    with pytest.raises(TokbenchError, match=r"suites\.pairs\.path: no file 'blimp\*"):
        validate({**values, "pairs": str(tmp_path)}, "mine.yaml")
    (tmp_path / "blimp.jsonl").write_text(FILES["minimal_pairs"])
    experiment = validate({**values, "pairs": str(tmp_path)}, "mine.yaml")
    suites = Suites(experiment)
    wildcards = SimpleNamespace(suite="pairs")
    assert suites.source(wildcards) == "local"
    assert suites.local_files(wildcards) == [str(tmp_path / "blimp.jsonl")]
    recipe = SuiteOptions.model_validate_json(suites.import_recipe(wildcards))
    assert write_local_tasks(recipe.model_copy(update={"path": tmp_path}), tmp_path / "tasks") == {"blimp": (2, 0)}
    assert str(tmp_path) not in suites.recipe(wildcards)
