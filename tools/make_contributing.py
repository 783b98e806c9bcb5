"""Generator of the table of rooms in CONTRIBUTING.md from ``tools/rooms.yaml``; finds imports up and in circles.

Run after a change to the rooms: ``python tools/make_contributing.py``.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tokbench"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms -->", "<!-- end of rooms -->"
CYTHON_IMPORT = re.compile(r"^\s*from\s+(tokbench[\w.]*)\s+c?import\s+\(?([\w, ]+)", re.MULTILINE)


def read_floors() -> list[dict[str, str]]:
    """Return the floors from the ground up, each with its rooms and their contents."""
    floors: list[dict[str, str]] = YAML(typ="safe", pure=True).load(ROOT / "tools" / "rooms.yaml")
    return floors


def room_of(path: Path) -> str:
    """Return the room of a module: its package, or the module name if it is not in a package."""
    return path.relative_to(SOURCE).parts[0].partition(".")[0]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and room of every import of another room, including imports in functions and in Cython."""
    for line, parts in modules_imported(path):
        room = parts[0] if parts else "__init__"
        if room != room_of(path):
            yield line, room


def modules_imported(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the line of every import of ours and the module's path in the package; empty for the package itself."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        pairs = [(node.lineno, *pair) for node in ast.walk(ast.parse(text)) for pair in _names(node)]
    else:
        matches = CYTHON_IMPORT.finditer(text)
        pairs = [
            (text.count("\n", 0, match.start()) + 1, match[1], name.split()[0])
            for match in matches
            for name in match[2].split(",")
        ]
    for line, module, name in pairs:
        package, *parts = [*module.split("."), name]
        if package == SOURCE.name:
            while parts and not _is_module(SOURCE.joinpath(*parts)):
                parts.pop()
            yield line, tuple(parts)


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file() or path.with_suffix(".pyx").is_file()


def _names(node: ast.AST) -> list[tuple[str, str]]:
    """Return pairs of module and name that a statement, or a call of ``import_module``, imports."""
    if isinstance(node, ast.ImportFrom) and node.module:
        return [(node.module, alias.name) for alias in node.names]
    if isinstance(node, ast.Import):
        return [_parent(alias.name) for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [_parent(name.value) for name in node.args if isinstance(name, ast.Constant)]
    return []


def _parent(module: str) -> tuple[str, str]:
    parent, _, name = module.rpartition(".")
    return parent or module, name


def circles() -> dict[str, list[str]]:
    """Return, by folder, the files and folders directly in it that import each other in a circle.

    Imports of files in a folder count for the folder. So this finds every circle of modules, and every file that
    imports from a folder whose modules import the file.
    """
    imported: dict[str, dict[str, set[str]]] = {}
    for path in modules():
        own = path.relative_to(SOURCE).with_suffix("").parts
        for _, parts in modules_imported(path):
            target = (*parts, "__init__") if SOURCE.joinpath(*parts).is_dir() else parts
            depth = next((at for at, (one, other) in enumerate(zip(own, target, strict=False)) if one != other), None)
            if depth is not None:
                children = imported.setdefault("/".join(own[:depth]), {})
                children.setdefault(own[depth], set()).add(target[depth])
    found = {}
    for folder, children in sorted(imported.items()):
        if folder:  # Rooms have floors, see :func:`upward_imports`.
            reached = {child: _reachable(children, child) for child in children}
            if circle := sorted(child for child in children if child in reached[child]):
                found[folder] = circle
    return found


def _reachable(imported: dict[str, set[str]], start: str) -> set[str]:
    """Return all direct and indirect imports of a file or folder."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in imported.get(waiting.pop(), set()) - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def modules() -> list[Path]:
    """Return every Python and Cython source of the package."""
    return sorted(path for path in SOURCE.rglob("*.py*") if path.suffix in (".py", ".pyx"))


def upward_imports() -> list[str]:
    """Return one line for every import that does not lead to a lower floor."""
    floors = read_floors()
    level = {room: number for number, floor in enumerate(floors) for room in floor}
    level |= {"__init__": len(floors), "__main__": len(floors) + 1}
    return [
        f"{path.relative_to(ROOT)}:{line}: {room_of(path)} imports {room}"
        for path in modules()
        for line, room in imports_of(path)
        if level[room_of(path)] <= level.get(room, len(floors))
    ]


def table() -> str:
    """Return the rooms as a table in Markdown, the highest floor first."""
    rows = ["| floor | room | content |", "|---:|---|---|"]
    floors = read_floors()
    for number in range(len(floors), 0, -1):
        for room, what in floors[number - 1].items():
            rows.append(f"| {number} | `{room}{'/' if (SOURCE / room).is_dir() else '.py'}` | {what} |")
    return "\n".join(rows)


def page(text: str) -> str:
    """Return the text of CONTRIBUTING.md with an updated table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
