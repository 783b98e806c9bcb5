"""Text of the site's page ``docs/api.md``, from the public docstrings; parses the sources without imports."""

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import dedent, indent

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tokbench"
SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "Public interface: `import tokbench`": {
        "adapters/load.py": ("load", "wrap"),
        "api/texts.py": ("read",),
        "api/__init__.py": ("count", "count_files", "build", "measure", "compare"),
        "api/comparison.py": ("Comparison",),
        "api/ids.py": ("token_bytes", "bits_per_byte", "decode_stream"),
        "tokenizer/decode_stream.py": ("DecodeStream",),
        "api/inspect.py": ("check", "Checks", "show", "Cuts", "bound", "ngram_bits", "read_results", "Results"),
        "tokenizer/tokenizer.py": ("Tokenizer",),
        "vocabulary.py": ("Vocabulary", "Event"),
        "pretokens/__init__.py": ("PretokenCounts",),
        "errors.py": ("TokbenchError",),
        "registry.py": ("Registry", "Method"),
    },
    "Constructions": {"construction/__init__.py": ("construction", "Construction", "Build")},
    "Segmentations": {"segmentation/__init__.py": ("segmentation", "Segmentation", "Segment", "Segmenter")},
    "Pre-tokenizations": {
        "pretokenization/__init__.py": (
            "pretokenization",
            "pretokenization_of",
            "Pretokenization",
            "Scheme",
            "Choose",
        ),
        "pretokenization/patterns/cut.py": ("Boundaries", "Cut"),
    },
    "Metrics": {
        "metric/__init__.py": ("metric", "Metric", "Shown", "Take"),
        "metric/measurement.py": ("Measurement",),
        "metric/usage.py": ("Usage",),
        "metric/words.py": ("Words",),
        "metric/embeddings.py": ("Embeddings",),
    },
    "Types of resource": {
        "resource/__init__.py": ("resource", "ResourceType", "Read", "ResourceOptions"),
        "metric/words.py": ("SegmentedWord", "Decision"),
    },
    "Other sources of constructions": {
        "candidates/scored_text.py": ("ScoredDocuments", "ScoredDocument"),
        "candidates/running_text.py": ("Documents",),
        "options.py": ("Options",),
    },
}
"""Documented names of each file, in order of display."""
OFFERED_BY = {"pretokenization/patterns/cut.py": "tokbench.pretokenization"}
"""Public modules of names that are defined in other files."""
INTRODUCTION = """\
# The Python interface

[A notebook](tour.md) shows this interface in ten cells.

This interface is stable: names and meanings change only with a note in the [changelog](../CHANGELOG.md). The
registries are `tokbench.constructions`, `.pretokenizations`, `.segmentations`, `.metrics`, `.corpus_formats` and
`.resource_types`. A registry returns its methods by name, and lists all names when it is printed or iterated. [How to
add a method](own_tokenizer.md) explains the decorators. `make docs` makes this page from the docstrings.

`import tokbench` makes `transformers.AutoTokenizer` open the folders of our tokenizers. It adds a finder to
`sys.meta_path`, which registers our class when `transformers` is imported. It imports no library itself.
"""
ROLE = re.compile(r":\w+:`~?([\w.]+)`")
PARTS = ("Args:", "Returns:", "Raises:", "Attributes:", "Yields:")
Definition = ast.ClassDef | ast.FunctionDef


def page() -> str:
    """Return the text of docs/api.md."""
    lines = [INTRODUCTION]
    offered = _offered()
    for heading, files in SECTIONS.items():
        lines.append(f"## {heading}\n")
        for file, names in files.items():
            body = {node.name: node for node in _tree(file).body if isinstance(node, Definition)}
            module = OFFERED_BY.get(
                file, "tokbench." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )
            for name in names:
                shown = f"tokbench.{name}" if name in offered else f"{module}.{name}"
                lines += _described(body[name], "###", shown)
    return "\n".join(lines).rstrip() + "\n"


def _tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


def _offered() -> set[str]:
    """Return the names that the package exports."""
    body = [node for node in _tree("__init__.py").body if isinstance(node, ast.Assign)]
    return set(next(ast.literal_eval(node.value) for node in body if ast.unparse(node.targets[0]) == "__all__"))


def _described(node: Definition, heading: str, name: str) -> Iterator[str]:
    yield f"{heading} `{name}`\n"
    top = heading == "###"
    if top:
        text = (ast.get_docstring(node) or name).partition("\n\n")[0]
        yield f'<details markdown="1"><summary>{escape(_markdown(text).replace("`", ""), quote=False)}</summary>\n'
    if isinstance(node, ast.FunctionDef):
        yield f"```python\n{_signature(node)}\n```\n"
    elif made := next((part for part in _functions(node) if part.name == "__init__"), None):
        made.name, made.returns, made.args.args = f"class {node.name}", None, made.args.args[1:]
        yield f"```python\n{_signature(made).removeprefix('def ')}\n```\n"
    if text := ast.get_docstring(node):
        yield f"{_markdown(text)}\n"
    if isinstance(node, ast.ClassDef):
        for part in _functions(node):
            public = not part.name.startswith("_") or part.name == "__call__"
            if public and ast.get_docstring(part):
                yield from _described(part, heading + "#", f"{node.name}.{part.name}")
    if top:
        yield "</details>\n"


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [part for part in node.body if isinstance(part, ast.FunctionDef)]


def _signature(node: ast.FunctionDef) -> str:
    """Return the signature; long ones have one parameter per line."""
    decorators = [ast.unparse(one) for one in node.decorator_list if ast.unparse(one) in ("property", "classmethod")]
    arguments = re.sub(r"(?<=[\w\]'\"])=(?=\S)", " = ", ast.unparse(node.args))
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"def {node.name}({arguments}){returned}"
    if len(line) > 100:
        parts = re.split(r", (?![^\[(]*[\])])", arguments)
        line = f"def {node.name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"
    return "\n".join([*(f"@{one}" for one in decorators), line]).replace("'", '"')


def _markdown(text: str) -> str:
    """Convert a docstring to Markdown: sections become lists, code has single backquotes."""
    blocks: list[str] = []
    for block in re.split(r"\n{2,}", text):
        first, _, rest = block.partition("\n")
        if first == "Examples:":
            blocks.append(f"Examples:\n\n```python\n{dedent(rest)}\n```")
        elif first in PARTS:
            blocks.append(f"{first}\n\n{_entries(dedent(rest), listed=first not in ('Returns:', 'Yields:'))}")
        elif blocks and block.startswith("    "):
            blocks.append(block if first.lstrip().startswith(("import", "print")) else indent(dedent(block), "  "))
        else:
            blocks.append(block)
    plain = ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2] or role[1]}`", "\n\n".join(blocks))
    return re.sub("(?<!`)``(?!`)", "`", plain)


def _entries(text: str, *, listed: bool) -> str:
    """Format entries of the form ``name: meaning``; continuation lines are indented."""
    if not listed:
        return text
    lines = []
    for line in text.splitlines():
        name, colon, meaning = line.partition(": ")
        lines.append(f"- `{name}`: {meaning}" if colon and not line.startswith(" ") else f"  {line.strip()}")
    return "\n".join(lines)
