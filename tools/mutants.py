"""Change one operator or constant at a time where Tokbench computes, and list the changes that no test notices.

``make mutants`` calls it. The changes are cosmic-ray's. They are drawn with a seed, places first and then one change of
each place, and each is made in a copy of the sources. Of the tests, those run that reach the changed line, then, if
none of them fails, the files that they stand in. What each test reaches is measured once, by coverage, and kept in
``build/mutants``; remove that folder after a change to sources or tests, and before other tests are named.

A change that lives is to be killed by a test, or explained in ``tools/mutants.yaml``.
"""

import ast
import os
import py_compile
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from queue import Queue

import click
import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
REACHED = WORK / "reached"
EXPLAINED = ROOT / "tools" / "mutants.yaml"
COMPUTING = (
    *("byte_lm", "candidates", "config", "construction", "corpus", "counting", "downstream", "fitness", "intrinsic"),
    *("metric", "optimum", "patterns", "pretokenization", "pretraining", "segmentation", "side_by_side", "statistics"),
    *("tabulation", "translation", "adapters/forms", "adapters/loss.py", "adapters/probes.py", "adapters/splits.py"),
    *("allowance.py", "arithmetic.py", "exact.py", "frequent.py", "gauge.py", "given.py", "memory.py", "needs.py"),
    *("occurrences.py", "offsets.py", "parallel.py", "percentile.py", "pretokens.py", "provenance.py", "slices.py"),
    *("splitting.py", "translation_scores.py"),
)
"""Folders and modules of the package."""
GROUPS = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
    {"USub", "Delete", "Not", "Invert"},
)
"""An operator becomes another of its group: what would fail at once says nothing of the tests."""
OTHERS = {"NumberReplacer", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"}
LOOKED_AT = {"arith_expr", "term", "power", "factor", "expr", "xor_expr", "and_expr", "shift_expr"}
LOOKED_AT |= {"comparison", "not_test", "and_test", "or_test", "number", "operator", "keyword", "name"}
"""Kinds of nodes at which one of the changes could be made."""
PRINTED = "Column", "Print"
"""What declares how a table is printed."""
GENERATED = ("tests/test_config.py::test_documentation_is_up_to_date", "tests/test_declared_tables.py")
"""Tests that hold documentation against all options and tables."""
TOLD = {"lives", "unreached", "failing anyhow"}
"""Ends of changes that are told."""
PATIENCE = 1800
"""Seconds after which tests count as hung, and the change as noticed."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        file: the module, below ``src``.
        line: where, from 1.
        operator: cosmic-ray's name of the change.
        occurrence: the how-manieth place in the file at which it could be made.
        old: the line as it stands.
        new: the line with the change.
    """

    file: str
    line: int
    operator: str
    occurrence: int
    old: str
    new: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it whatever stands above."""
        return self.file, self.old, self.new


def wanted(name: str) -> bool:
    """Whether the change of an operator is one of ours."""
    short = name.removeprefix("core/")
    _, *pair = short.split("_")
    return short in OTHERS or any(set(pair) <= group for group in GROUPS if len(pair) == 2)


def idle(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations, decorators, what only guards against mistakes of ours and how tables are printed lie: they
    compute nothing."""
    found = []
    for node in ast.walk(ast.parse(code)):
        others = getattr(node, "decorator_list", [])
        if isinstance(node, ast.keyword) and node.arg == "strict":
            others = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PRINTED:
            others = [node]
        for inner in (getattr(node, "annotation", None), getattr(node, "returns", None), *others):
            if isinstance(inner, ast.expr):
                end = inner.end_lineno or inner.lineno, inner.end_col_offset or 0
                found.append(((inner.lineno, inner.col_offset), end))
    return found


def changes(file: Path) -> Iterator[tuple[tuple[int, int], str, int]]:
    """Every change that could be made to a file: its place, the operator and the occurrence."""
    code = file.read_text(encoding="utf-8")
    away = idle(code)
    operators = {name: get_operator(name)() for name in filter(wanted, operator_names())}
    seen = dict.fromkeys(operators, 0)
    for node in ast_nodes(get_ast(code)):
        if node.type in LOOKED_AT:
            for name, operator in operators.items():
                for place, _ in operator.mutation_positions(node):
                    if not any(start <= place <= end for start, end in away):
                        yield place, name, seen[name]
                    seen[name] += 1


def drawn(of: Iterable[str], number: int, seed: int) -> list[Mutant]:
    """So many changes of different places in folders and modules, the same for the same seed and sources."""
    every: dict[tuple[str, tuple[int, int]], list[tuple[str, int]]] = {}
    for part in of:
        there = ROOT / "src" / "tokbench" / part
        for path in [there] if there.suffix else sorted(there.rglob("*.py")):
            for place, name, occurrence in changes(path):
                every.setdefault((path.relative_to(ROOT / "src").as_posix(), place), []).append((name, occurrence))
    draw = random.Random(seed)
    found: list[Mutant] = []
    for file, place in draw.sample(sorted(every), len(every)):
        name, occurrence = draw.choice(every[file, place])
        if len(found) == number:
            break
        if is_operation(mutated(file, name, occurrence), (ROOT / "src" / file).read_text(encoding="utf-8")):
            found.append(made(file, place[0], name, occurrence))
    return found


def is_operation(text: str, before: str) -> bool:
    """Whether Python can read it, and what was changed is an operator: the star before arguments that have names, of
    which a slash makes that before those that have none, is not."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return nameless(tree) == nameless(ast.parse(before))


def nameless(tree: ast.AST) -> int:
    """Arguments without names, over all functions."""
    return sum(len(node.posonlyargs) for node in ast.walk(tree) if isinstance(node, ast.arguments))


def mutated(file: str, operator: str, occurrence: int) -> str:
    """The text of a file with a change."""
    text = (ROOT / "src" / file).read_text(encoding="utf-8")
    changed: str = mutate_code(text, get_operator(operator)(), occurrence)
    return changed


def made(file: str, line: int, operator: str, occurrence: int) -> Mutant:
    """A change, told by the line that it touches."""
    old = (ROOT / "src" / file).read_text(encoding="utf-8").splitlines()[line - 1]
    new = mutated(file, operator, occurrence).splitlines()[line - 1]
    return Mutant(file, line, operator, occurrence, old.strip(), new.strip())


def measure(cores: int, tests: Iterable[str]) -> None:
    """Run tests and keep which of them reaches which line."""
    WORK.mkdir(parents=True, exist_ok=True)
    command = ["-n", str(cores), "--no-loadscope-reorder", "-p", "pytest_cov", "--cov", "src/tokbench"]
    environment = os.environ | {"COVERAGE_FILE": str(REACHED)}
    pytest = [sys.executable, "-m", "pytest", *command, "--cov-context", "test", "--cov-report=", *tests]
    subprocess.run(pytest, cwd=ROOT, env=environment, check=False)


def reaching(data: CoverageData, mutant: Mutant) -> list[str]:
    """The tests that reach a changed line, their parameters left out; of a line that runs when its module is imported,
    all that reach some other line there and those of what is generated from sources."""
    by_line = data.contexts_by_lineno(str(ROOT / "src" / mutant.file))
    own = named(by_line.get(mutant.line, []))
    if own or mutant.line not in by_line:
        return own
    return [*GENERATED, *named(chain.from_iterable(by_line.values()))]


def named(contexts: Iterable[str]) -> list[str]:
    """Tests of what coverage calls contexts, in the order in which they stand."""
    return sorted({context.split("|")[0].split("[")[0] for context in contexts if "::" in context}, key=place_of)


def place_of(test: str) -> tuple[str, int]:
    """The file of a test and where it stands there: what forks comes before what starts threads."""
    file, *_, name = test.split("::")
    return file, (ROOT / file).read_text(encoding="utf-8").find(f"def {name}(")


def copied(number: int) -> Path:
    """A copy of the sources, compiled so that what is compiled counts for the content it was made of alone."""
    folder = WORK / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("*.c", "*.cpp", "__pycache__", "*.egg-info"))
    for path in folder.rglob("*.py"):
        py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    return folder


def notices(sources: Path, tests: list[str], seed: int) -> bool:
    """Whether one of the tests fails on these sources."""
    environment = os.environ | {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["-x", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", *tests]
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *command], cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode != 0


def end_of(mutant: Mutant, sources: Path, tests: list[str], seed: int) -> str:
    """Whether a test notices the change, of those that reach it, then of all in their files; what fails without the
    change, too, tells nothing of it."""
    file = sources / mutant.file
    whole = file.read_text(encoding="utf-8")
    changed = mutated(mutant.file, mutant.operator, mutant.occurrence)
    for some in (tests, sorted({test.split("::")[0] for test in tests})):
        file.write_text(changed, encoding="utf-8")
        try:
            noticed = notices(sources, some, seed)
        finally:
            file.write_text(whole, encoding="utf-8")
        if noticed:
            return "failing anyhow" if notices(sources, some, seed) else "killed"
    return "lives"


def explained() -> set[tuple[str, str, str]]:
    """The changes that may live."""
    rows = yaml.safe_load(EXPLAINED.read_text(encoding="utf-8")) or []
    return {(row["file"], row["old"], row["new"]) for row in rows}


@click.command(help=__doc__)
@click.option("--number", default=100, show_default=True, help="Changes to try.")
@click.option("--seed", default=0, show_default=True, help="Of the draw, and of what the tests draw.")
@click.option("--cores", default=2, show_default=True, help="Changes that are tried at a time.")
@click.option("--of", multiple=True, default=COMPUTING, help="A folder or module of the package, again for more.")
@click.option("--tests", multiple=True, help="A file of tests, again for more; all unless given.")
def main(number: int, seed: int, cores: int, of: tuple[str, ...], tests: tuple[str, ...]) -> None:
    if not REACHED.exists():
        measure(cores, tests)
    data = CoverageData(str(REACHED))
    data.read()
    free: Queue[Path] = Queue()
    for copy in range(cores):
        free.put(copied(copy))

    def tried(mutant: Mutant) -> tuple[Mutant, str]:
        if mutant.key in explained():
            return mutant, "explained"
        tests = reaching(data, mutant)
        if not tests:
            return mutant, "unreached"
        sources = free.get()
        try:
            return mutant, end_of(mutant, sources, tests, seed)
        finally:
            free.put(sources)

    found: dict[str, int] = {}
    with ThreadPoolExecutor(cores) as pool:
        for mutant, end in pool.map(tried, drawn(of, number, seed)):
            found[end] = found.get(end, 0) + 1
            if end in TOLD:
                print(f"{end}: src/{mutant.file}:{mutant.line}\n  - {mutant.old}\n  + {mutant.new}", flush=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(found.items())))
    sys.exit(bool(found.keys() & TOLD))


if __name__ == "__main__":
    main()
