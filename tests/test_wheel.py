"""The wheel and the source distribution; the wheel is installed with its dependencies into a clean environment.

Jobs in a container: the call of Apptainer, and the files that its recipe copies.

The rules' conda environments: written from the lock, with all possible imports of a rule's command.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import tool_of
from tests.support.rules import COMMAND_OF, RULES, called
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.construction import constructions
from tokbench.metric import metrics
from tokbench.pretokenization import schemes
from tokbench.registry import PLACES, modules_in
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.workflow import fingerprint as module
from tokbench.workflow.module_sources import GATHERING_FUNCTION

WHEEL_ROOT = Path(__file__).parents[1]
KERNELS = WHEEL_ROOT / "src" / "tokbench" / "kernels"
OFFLINE = ("--quiet", "--offline", "--no-build-isolation")
MADE_OR_CODE = (".py", ".pyi", ".pyc", ".c", ".cpp", ".so")
"""Endings of modules and of files that are made of sources."""


def required_by(name: str, extras: Iterable[str] = ()) -> set[str]:
    """The distributions that one of those installed here needs, and itself."""
    pending, seen = [(name, frozenset(extras) | {""})], set[str]()
    while pending:
        name, wanted = pending.pop()
        seen.add(name)
        for requirement in map(Requirement, requires(name) or ()):
            applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in wanted)
            key = canonicalize_name(requirement.name)
            if applies and key not in seen:
                pending.append((key, frozenset(requirement.extras or {""})))
    return seen


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run(["uv", "build", *OFFLINE, "--wheel", "--out-dir", place, WHEEL_ROOT], check=True)
    (made,) = place.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The interpreter of an environment with the wheel and its dependencies only, which are linked to those here."""
    place = wheel.parent / "environment"
    subprocess.run(["uv", "venv", "--quiet", "--offline", "--python", sys.executable, place], check=True)
    python = place / "bin" / "python"
    subprocess.run(["uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    for name in required_by("tokbench") - {"tokbench"}:
        files = distribution(name).files or ()
        for entry in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            original = Path(str(distribution(name).locate_file(entry)))
            if entry.endswith(".dist-info"):  # uv does not read links
                shutil.copytree(original, packages / entry)
            elif not (packages / entry).exists():
                (packages / entry).symlink_to(original)
    return python


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(installed), "-P", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_dependencies_fit(installed: Path) -> None:
    check = ["uv", "pip", "check", "--offline", "--python", str(installed)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_wheel_has_runtime_files_and_no_generated_sources(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    kernels = {path.stem for path in KERNELS.glob("*.pyx")}
    assert {name.split("/")[-1].partition(".")[0] for name in names if name.endswith(".so")} >= kernels
    assert not [name for name in names if name.endswith((".c", ".cpp"))]
    packaged = {name.removeprefix("tokbench/workflow/files/") for name in names if "/workflow/files/" in name}
    ours = {"Snakefile", "config.yaml"} | {
        path.relative_to(WHEEL_ROOT).as_posix()
        for folder in ("rules", "envs", "profiles", "report")
        for path in (WHEEL_ROOT / folder).rglob("*")
        if path.is_file()
    }
    assert packaged == ours
    assert {"tokbench/py.typed", "snakemake_logger_plugin_lines/__init__.py"} <= names
    source = WHEEL_ROOT / "src"
    data = (path for path in (source / "tokbench").rglob("*") if path.is_file() and path.suffix not in MADE_OR_CODE)
    assert {path.relative_to(source).as_posix() for path in data if "workflow/files/" not in path.as_posix()} <= names


def test_wheel_of_the_source_distribution_is_the_same(wheel: Path, tmp_path: Path) -> None:
    """It has all sources and nothing that is built. Its wheel takes the kernels that are compiled here."""
    subprocess.run(["uv", "build", *OFFLINE, "--sdist", "--out-dir", tmp_path, WHEEL_ROOT], check=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        assert not [name for name in packed.getnames() if name.endswith((".c", ".cpp", ".so"))]
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    for file in KERNELS.iterdir():
        if file.suffix in {".c", ".cpp", ".so"}:
            shutil.copy2(file, source / KERNELS.relative_to(WHEEL_ROOT) / file.name)
    subprocess.run(["uv", "build", *OFFLINE, "--wheel", "--out-dir", tmp_path, source], check=True)
    names = [set(ZipFile(path).namelist()) for path in (wheel, tmp_path / wheel.name)]
    assert names[0] == names[1]


def test_from_python(installed: Path, tmp_path: Path) -> None:
    code = (
        "import tokbench; counts = tokbench.count(['the cat and the hat'] * 3);"
        "made = [tokbench.build('bpe', counts, size) for size in (260, 262)];"
        "print(tokbench.__file__, tokbench.compare(made, ['the hat', 'a cat'])['tokens'].to_list());"
        "tokbench.measure(made[0], 'a cat')"
    )
    said = run(installed, tmp_path, "-c", code)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(str(installed.parents[1]))
    assert said.stdout.split(maxsplit=1)[1] == "[8, 6]\n"


def test_command_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sat on the mat\nand the hat\n" * 9)
    for line in (
        "count --scheme gpt2 text.txt -o counts.parquet",
        "build bpe --counts counts.parquet --size 264 -o bpe",
        "build unigram --counts counts.parquet --size 264 -o unigram",
        "encode bpe text.txt -o ids",
        "decode bpe ids -o back.txt",
        "measure bpe --counts counts.parquet -o measured.json",
        "compare bpe unigram text.txt",
        "methods pathpiece",
        "init mine",
        "validate mine/config.yaml",
    ):
        said = run(installed, tmp_path, "-m", "tokbench", *line.split())
        assert said.returncode == 0, f"{line}: {said.stderr}"
    assert (tmp_path / "back.txt").read_bytes() == (tmp_path / "text.txt").read_bytes()
    assert (tmp_path / "bpe" / "tokenizer.json").is_file()
    recipe = '{"source":{"type":"text","path":"text.txt"},"splits":{"byte_lm":1.0}}'
    said = run(installed, tmp_path, "-m", "tokbench", "prepare", "--recipe", recipe, "-o", "corpus")
    assert said.returncode == 0, said.stderr
    trained = ["train_byte_lm", "--recipe", "tiny", "-o", "model", "corpus/byte_lm/0000.parquet"]
    said = run(installed, tmp_path, "-m", "tokbench", *trained)
    assert said.returncode == 2
    assert "is not installed; install 'tokbench[language-models]', or run .venv-models/bin/tokbench" in said.stderr


RECIPE = ROOT / "envs" / "container.def"
CONFIGURATION = """\
name: boxed
corpora: {text: {source: {type: text, path: text.txt}}}
variants: {bpe: {pretokenization: gpt2, construction: bpe}}
sizes: [300]
"""
ARGUMENTS = ("--configfile", "boxed.yaml", "--software-deployment-method", "apptainer", "--until", "build")
APPTAINER = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.3.0"; exit; fi
echo "$@" | grep -o "^exec\\|tokbench.sif bash" | tr '\\n' ' ' >> calls.txt
while [ "$1" != bash ]; do shift; done
exec "$@"
"""
"""Runs what it is to run in a container where it is."""
INSIDE = """#!/bin/sh
echo inside >> inside.txt
exec {} -m tokbench "$@"
"""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_jobs_run_in_the_container(tmp_path: Path) -> None:
    """The command is the container's own, and no job is a fork of what is outside."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    checkout = Checkout(folder, stand_in=True)
    put(tmp_path / "bin" / "apptainer", APPTAINER)
    put(tmp_path / "bin" / "tokbench", INSIDE.format(sys.executable))
    put(folder / "tokbench.sif", "")
    put(folder / "boxed.yaml", CONFIGURATION)
    put(folder / "text.txt", "a")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", *ARGUMENTS],
        cwd=folder,
        env=checkout.environment | {"PATH": f"{tmp_path / 'bin'}:{os.defpath}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs = ("prepare", "count_split", "build")
    assert (folder / "calls.txt").read_text() == "exec tokbench.sif bash " * len(jobs)
    assert (folder / "inside.txt").read_text() == "inside\n" * len(jobs)


def files_of_apptainer() -> set[str]:
    [block] = re.findall(r"^%files\n((?:    .+\n)+)", RECIPE.read_text(), re.MULTILINE)
    return {word for line in block.splitlines() for word in line.split()[:-1]}


def files_of_docker() -> set[str]:
    lines = re.findall(r"^COPY (.+)$", RECIPE.with_name("Dockerfile").read_text(), re.MULTILINE)
    return {word for line in lines for word in line.split()[:-1]}


@pytest.mark.parametrize("files", [files_of_apptainer, files_of_docker])
def test_container_recipe_copies_existing_and_needed_files(files: Callable[[], set[str]]) -> None:
    copied = files()
    assert [word for word in sorted(copied) if not (ROOT / word).exists()] == []
    linked = {path.resolve().name for path in (ROOT / "src/tokbench/workflow/files").iterdir()}
    assert {"src", "setup.py", "pyproject.toml", "README.md", "LICENSE", "models.lock"} | linked <= copied


REGISTRIES = (constructions, segmentations, schemes, metrics, resource_types)
PINNED = re.compile(r"^      - ([a-z0-9-]+)(\[[a-z,]+\])?==", re.MULTILINE)


def test_environments_are_written_from_the_lock() -> None:
    tool = tool_of("make_environments")
    written = tool.environments()
    assert written.keys() == set((ROOT / "envs").glob("*.yaml"))
    for path, text in written.items():
        assert path.read_text() == text, "run python tools/make_environments.py"


LOCKS = {
    "requirements.lock": ({"existing", "hub", "code", "workflow", "slurm", "development"}, ("3.11", "3.14")),
    "models.lock": ({"language-models", "existing", "hub", "code", "workflow", "development"}, ("3.11", "3.13")),
}
"""Extras and the first and last Python of each lock."""


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_fits_the_package(name: str) -> None:
    """It has a version of everything that the package and its extras need, and no address of a registry."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, pythons = LOCKS[name]
    wanted = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    for python in pythons:
        locked = tool_of("make_environments").locked_versions(ROOT / name, python)
        for requirement in map(Requirement, wanted):
            version = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), f"{requirement}: run make lock"
    assert {*project["optional-dependencies"]} - {"icu"} == set.union(*(extras for extras, _ in LOCKS.values()))


@cache
def environments_installed(environment: str) -> set[str]:
    """The distributions of an environment and all that they require."""
    text = (ROOT / "envs" / f"{environment}.yaml").read_text()
    seen: set[str] = set()
    for name, extras in PINNED.findall(text):
        try:
            seen |= required_by(name, extras.strip("[]").split(","))
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed here")
    return seen


held_by = cache(packages_distributions)
"""The distributions that bring each package, asked once: all that is installed is gone through."""


@cache
def ours_in(name: str) -> set[str]:
    """Our modules that a module imports, at once or later, and the packages that it lies in."""
    path = module._locate(name)
    source = path.read_text(encoding="utf-8") if path else ""
    lines = module.KERNEL_IMPORT.findall(source) if path and path.suffix != ".py" else []
    read = [(parent, word.split()[0]) for parent, *words in lines for word in "".join(words).split(",") if word.split()]
    commands: list[str] = []
    for node in ast.walk(ast.parse(source)) if path and path.suffix == ".py" else ():
        if isinstance(node, ast.ImportFrom) and node.module:
            read += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == GATHERING_FUNCTION:
            commands += [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    found = {f"{parent}.{word}" if module._locate(f"{parent}.{word}") else parent for parent, word in read}
    for place in (place for command in commands for place in PLACES[command]):
        where = module._locate(place)
        folder = [str(where.parent)] if where is not None and where.name == "__init__.py" else None
        found.update((place, *modules_in(place, folder)))
    parts = name.split(".")
    return {one for one in found if one.startswith("tokbench.")} | {
        ".".join(parts[:end]) for end in range(2, len(parts))
    }


def behind(names: Iterable[str]) -> set[str]:
    """Modules, and our modules behind them; plumbing other than commands left out."""
    pending, found = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name not in found and (name.startswith("tokbench.commands") or not module.is_plumbing(name)):
            found.add(name)
            pending += ours_in(name)
    return found


def modules_of(name: str) -> set[str]:
    """Our modules that a command may import, those of every method that it may call included."""
    found = behind({called_name.module for called_name in called(name)})
    while True:
        reached = [registry for registry in REGISTRIES if registry.package in found]
        more = behind({method.module for registry in reached for method in registry.methods()}) - found
        if not more:
            return found
        found |= more


@cache
def imported(name: str) -> set[str]:
    """The packages of others that a module imports, at once or later."""
    path = module._locate(name)
    if path is None or path.suffix != ".py":
        return {"numpy"}
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found - {"tokbench"} - sys.stdlib_module_names


@pytest.mark.parametrize("rule", RULES)
def test_environments_have_the_imports_of_their_commands(rule: str) -> None:
    [environment] = re.findall(r"envs/(\w+)\.yaml", RULES[rule][1]["conda"])
    held = environments_installed(environment)
    distributions = held_by()
    for name in sorted(modules_of(COMMAND_OF.get(rule, rule))):
        for package in imported(name):
            candidates = {canonicalize_name(found) for found in distributions.get(package, [package])}
            assert candidates & held, f"{name} imports {package}, which envs/{environment}.yaml does not install"
