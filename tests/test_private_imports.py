"""Other libraries are used through their public names, and nothing in them is replaced."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("tokbench", "snakemake_logger_plugin_lines", "__future__")
DOCUMENTED = {"_thread", "logging.raiseExceptions", "sys.argv", "sys.stdout", "sys.stderr"}
"""Names and attributes that Python's own documentation says may be imported and assigned."""
ALLOWED = {
    "src/tokbench/auto_tokenizer.py": {"sys.meta_path"},
    "rules/common.smk": {"sys.modules"},
}
"""The finder that registers our class when transformers is imported, which has no entry point for it; Snakemake's
modules, in a file that is not Python."""
CHANGES = {"update", "pop", "setdefault", "clear", "__setitem__", "__delitem__"}
IN_RULES = re.compile(r"(sys\.modules|sys\.meta_path)|import (_\w+)|from \S*\._\w+ (import)")


def private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def foreign(module: str) -> bool:
    return module.split(".")[0] not in OURS


def root(node: ast.expr) -> str | None:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return None
    return node.id


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """By the name that it is bound to, each module or name that is imported from other packages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if foreign(alias.name):
                    yield alias.asname or alias.name.split(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level and foreign(str(node.module)):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def assigned(tree: ast.AST) -> Iterator[ast.expr]:
    """Attributes that are assigned, deleted, or set by ``setattr``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            yield node.args[0]


def import_system(tree: ast.AST) -> Iterator[str]:
    """Uses of ``sys.meta_path``, and of ``sys.modules`` to change it or to find a library by its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.meta_path":
            yield "sys.meta_path"
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Constant | ast.JoinedStr):
                yield "sys.modules"
        elif isinstance(node, ast.Attribute) and node.attr in CHANGES and ast.unparse(node.value) == "sys.modules":
            yield "sys.modules"


def faults(source: str) -> set[str]:
    """What a Python file imports, assigns or uses that it may not."""
    tree = ast.parse(source)
    bound = dict(imports(tree))
    changed = {ast.unparse(node) for node in assigned(tree) if root(node) in bound}
    return ({name for name in bound.values() if private(name)} | changed | {*import_system(tree)}) - DOCUMENTED


def not_allowed(files: Iterable[Path], faults_of: Callable[[str], set[str]]) -> dict[str, set[str]]:
    found = {str(file.relative_to(ROOT)): faults_of(file.read_text(encoding="utf-8")) for file in files}
    return {name: rest for name, each in found.items() if (rest := each - ALLOWED.get(name, set()))}


def test_other_libraries_are_used_through_public_names() -> None:
    assert not not_allowed((ROOT / "src").rglob("*.py"), faults)


def test_rules_use_public_names() -> None:
    def named(source: str) -> set[str]:
        return {next(filter(None, groups)) for groups in IN_RULES.findall(source)}

    assert not not_allowed([ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")], named)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from lm_eval.tasks._yaml_loader import load_yaml", "lm_eval.tasks._yaml_loader.load_yaml"),
        ("from torch import _dynamo", "torch._dynamo"),
        ("import torch._dynamo", "torch._dynamo"),
        ("from composer.utils import dist\ndist.barrier = None", "dist.barrier"),
        ("import torch\nsetattr(torch.nn, 'Linear', None)", "torch.nn"),
        ("import sys\nsys.modules['boto3'] = None", "sys.modules"),
        ("import sys\nsys.modules.update(boto3=None)", "sys.modules"),
        ("import sys\nfind = sys.modules['snakemake'].find", "sys.modules"),
        ("import sys\nsys.meta_path.insert(0, None)", "sys.meta_path"),
    ],
)
def test_faults_are_found(source: str, fault: str) -> None:
    assert faults(source) == {fault}


def test_what_is_ours_may_be_private_and_assigned() -> None:
    imported = "import sys, os\nfrom tokbench.kernels import _flags\n"
    assert faults(imported + "_flags.x = sys.modules[_flags.y]\nos.environ['a'] = 'b'") == set()
