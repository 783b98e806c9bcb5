"""Generator of type stubs for the compiled kernels: one ``.pyi`` file per ``.pyx`` file, from its signatures.

``setup.py`` runs it for every build; ``python tools/make_stubs.py`` runs it separately. C types become Python types:
``const int64_t[::1]`` is ``NDArray[np.int64]``, ``bint`` is ``bool``. Other types, mainly of return values, are
annotated in the ``.pyx`` file.
"""

import re
from pathlib import Path

KERNELS = Path("src/tokbench/kernels")
HEADER = """from collections.abc import Callable, Iterable
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
"""
STATEMENT = re.compile(
    r"^cdef class (?P<kernel>\w+)(?P<base>\(\w+\))?:"
    r"|^cpdef enum (?P<enum>\w+):\n(?P<members>(?:    \w+\n)+)"
    r"|^(?P<constant>[A-Z]\w*) = "
    r"|^    cdef readonly (?P<type>\w+) (?P<attributes>[\w, ]+)"
    r"|(?P<property>^    @property\n)?^(?P<indent>(?:    )?)def (?P<name>\w+)\("
    r"|^(?:cdef|cpdef)\b",
    re.MULTILINE,
)
AFTER_PARAMETERS = re.compile(r'(?: -> (?P<result>.+?))?:\n(?:\s+r?"""(?P<summary>[^\n"]+))?')
SCALARS = {"bint": "bool", "double": "float", "float": "float"}
BUILTIN = {"bytes", "str", "list", "tuple", "dict", "object"}
DTYPES = {"double": "float64", "float": "float32", "Id": "integer[Any]"}


def python_type(declared: str, nullable: bool) -> str:
    """Return the Python type of a C declaration; nullable extension types also accept None."""
    if view := re.fullmatch(r"(const )?(\w+)\[[:, 1]+\]", declared):
        array = f"NDArray[np.{DTYPES.get(view[2], view[2].removesuffix('_t'))}]"
        return f"bytes | {array}" if view[1] and view[2] == "uint8_t" else array
    if re.fullmatch(r"u?int(\d+_t)?|Py_ssize_t", declared):
        return "int"
    plain = SCALARS.get(declared, declared)
    return f"{plain} | None" if nullable and plain == declared and declared not in BUILTIN else plain


def split(text: str) -> list[str]:
    """Split a text at commas outside brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def parameter(text: str) -> str:
    """Convert a parameter to its form in a stub."""
    declared, equals, default = (part.strip() for part in text.partition("="))
    name, colon, annotation = declared.partition(": ")
    if not colon and declared not in ("*", "self"):
        *words, name = declared.removesuffix(" not None").split(" ")
        if not words:
            raise ValueError(f"{declared}: a parameter without a type")
        annotation = python_type(" ".join(words), not declared.endswith(" not None"))
    if default == "None" and not annotation.endswith("None"):
        annotation += " | None"
    return name + (f": {annotation}" if annotation else "") + (f" = {default}" if equals else "")


def definition(match: re.Match[str]) -> str:
    """Return the stub of a function, method or property, with the first line of its docstring."""
    source, start = match.string, match.end()
    end, depth = start, 1
    while depth:
        depth += (source[end] in "([") - (source[end] in ")]")
        end += 1
    name = match["name"].replace("__cinit__", "__init__")
    after = AFTER_PARAMETERS.match(source, end)
    result = "None" if name == "__init__" else after and after["result"]
    if not after or not result:
        raise ValueError(f"{name}: a result without a type")
    head = f"{match['indent']}def {name}({', '.join(map(parameter, split(source[start : end - 1])))}) -> {result}:"
    body = f'"""{after["summary"].strip()}"""' if after["summary"] else "..."
    return f"{match['property'] or ''}{head}\n{match['indent']}    {body}"


def stub(source: str, declarations: str = "") -> str:
    """Return the stub of a kernel from the text of its ``.pyx`` and ``.pxd`` files."""
    blocks: dict[str, list[str]] = {}
    enums = []
    for text in (source, declarations):
        owner = ""
        for match in STATEMENT.finditer(text):
            if not match["indent"] and not match["type"]:
                owner = match["kernel"] or ""
            name = match["name"] or ""
            if match["kernel"]:
                blocks.setdefault(owner, [f"class {owner}{match['base'] or ''}:", "    ..."])
            elif match["enum"]:
                members = [f"    {value} = {number}" for number, value in enumerate(match["members"].split())]
                enums += [f"class {match['enum']}(IntFlag):", *members]
            elif match["constant"]:
                blocks[match["constant"]] = [f"{match['constant']}: int"]
            elif match["type"]:
                for attribute in split(match["attributes"]):
                    result = python_type(match["type"], nullable=True)
                    blocks[owner].append(f"    @property\n    def {attribute}(self) -> {result}: ...")
            elif (owner or not match["indent"]) and re.fullmatch("__(c?init|len)__|[a-z].*", name):
                blocks.setdefault(owner or name, []).append(definition(match))
    body = "\n".join([*enums, *(line for block in blocks.values() for line in block)])
    for enum in re.findall(r"^class (\w+)\(IntFlag", body, re.MULTILINE):
        body = body.replace(f"{enum} | None", enum)
    cimports = re.findall(r"^from (tokbench\.kernels\.\w+) cimport (\([^)]+|.+)", source + declarations, re.MULTILINE)
    imports = [
        f"from {module} import {name}" for module, names in cimports for name in re.findall(r"\b[A-Z]\w+", names)
    ]
    return "\n".join([HEADER, *sorted({line for line in imports if f"{line.split()[-1]}" in body}), body, ""])


def main() -> None:
    for path in sorted(KERNELS.glob("*.pyx")):
        declarations = path.with_suffix(".pxd")
        content = stub(path.read_text(), declarations.read_text() if declarations.exists() else "")
        target = path.with_suffix(".pyi")
        if not target.exists() or target.read_text() != content:
            target.write_text(content)


if __name__ == "__main__":
    main()
