"""Strict YAML for configurations and the command line: mappings, lists and plain values, unique keys, no tags.

Plain values are those that all versions of YAML and JSON parse the same way: ``true``, ``false``, ``null`` and decimal
numbers. Words that versions parse differently (``yes``, ``1_000``, ``+5``, ``017``, ``0x1f``, ``1:30``, dates) are
text. So options that expect a number reject them, and the language tag of Norwegian may be written ``no``.
"""

import io
import re
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import SafeRepresenter
from ruamel.yaml.resolver import VersionedResolver

from tokbench.errors import TokbenchError, shortened
from tokbench.io.compression import check_regular

MAX_DEPTH = 50
MAX_BYTES = 1 << 24
BOM = "\ufeff"
MERGE = "<<"
PLAIN = re.compile(
    r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|-?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|-?(?:0|[1-9][0-9]{0,99})|-?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
    re.ASCII,
)
"""Unquoted words that are not text."""
BREAKS = re.compile("[\r\x85\u2028\u2029]")


def read_yaml(path: Path | str) -> Any:
    """Read a YAML file.

    Raises:
        TokbenchError: The file cannot be read, is larger than 16 MiB, or is not valid (see :func:`parse_yaml`).
    """
    check_regular(path, descriptors=True)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TokbenchError(f"{path}: cannot be read ({reason}); name an existing file") from None
    if len(content) > MAX_BYTES:
        raise TokbenchError(f"{path}: larger than {MAX_BYTES >> 20} MiB, which no configuration is; name another file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        byte = content[error.start]
        raise TokbenchError(f"{path}:{line}:{column}: not UTF-8 (byte 0x{byte:02x}); save the file as UTF-8") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """Parse a YAML text.

    Args:
        text: The text.
        name: The source in messages: a file or an option of the command line.

    Raises:
        TokbenchError: The text is not YAML, a key is not text or occurs twice, or there is a tag, a second document, or
            more than 50 levels; the message names line and column.
    """
    try:
        return _parser().load(text.removeprefix(BOM))
    except MaxDepthExceededError as error:
        mark, reason = error.problem_mark, f"nested more than {MAX_DEPTH} deep; no configuration is"
    except _InvalidError as error:
        mark, reason = error.problem_mark, str(error.problem)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(filter(None, (error.context, error.problem))).replace("'\\x00'", "the end")
        if "expected <block end>" in reason:
            reason = "indented differently from the lines above"
        reason = f"not YAML ({' '.join(reason.split())}); correct it"
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        reason = f"not YAML (the character U+{error.character:04X} is not allowed); remove it"
        raise TokbenchError(f"{name}:{line}:{column}: {reason}") from None
    raise TokbenchError(f"{name}:{mark.line + 1}:{mark.column + 1}: {reason}" if mark else f"{name}: {reason}")


def parse_words(value: Any) -> Any:
    """Parse the words in a value as YAML, because Snakemake reads lists on its command line as lists of text."""
    if isinstance(value, dict):
        return {key: parse_words(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [parse_words(inner) for inner in value]
    return parse_yaml(value, value) if isinstance(value, str) and PLAIN.fullmatch(value) else value


def dump_yaml(value: Any) -> str:
    """Return YAML that :func:`parse_yaml` reads as the same value."""
    stream = io.StringIO()
    yaml = _parser()
    yaml.representer.add_representer(str, _represent_text)
    yaml.dump(value, stream)
    return stream.getvalue().removesuffix("...\n")


def _parser() -> Any:
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Composer, yaml.Resolver, yaml.Representer = _Composer, _Resolver, _Representer
    yaml.max_depth = MAX_DEPTH
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False
    return yaml


class _InvalidError(MarkedYAMLError):
    """YAML that is valid but not accepted."""


def _reject(reason: str, mark: Any) -> NoReturn:
    raise _InvalidError(problem=reason, problem_mark=mark)


class _Composer(Composer):
    """Composer that rejects tags, aliases within their own value, and keys that are not text or occur twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if getattr(event, "ctag", None) is not None:
            _reject("tags such as '!!int' are not read; remove it, and put text in quotes", event.start_mark)
        node = super().compose_node(parent, index)
        if isinstance(event, AliasEvent) and node.end_mark is None:
            _reject(f"alias '*{event.anchor}' within its own value; remove it", event.start_mark)
        if isinstance(node, ScalarNode):
            node.value = _text(node)
        if isinstance(node, MappingNode) and not isinstance(event, AliasEvent):
            _check_keys(node)
        return node


def _text(node: ScalarNode) -> str:
    """Return the text of a scalar; two surrogate escapes of JSON are joined to one character."""
    try:
        text: str = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        _reject("half a pair of surrogates, which is not a character; write the character itself", node.start_mark)
    if "\0" in text:
        _reject("text contains the character U+0000; remove it", node.start_mark)
    return text


def _check_keys(mapping: MappingNode) -> None:
    lines: dict[str, int] = {}
    for key, _ in mapping.value:
        if not isinstance(key, ScalarNode):
            _reject("a key must be text, and here a list or a mapping is one; put it in quotes", key.start_mark)
        if not str(key.tag).endswith((":str", ":merge")):
            _reject(f"the key {shortened(key.value) or 'that is empty'} is not text; put it in quotes", key.start_mark)
        if key.value in lines:
            first = f"first in line {lines[key.value]}"
            _reject(f"the key '{shortened(key.value)}' occurs twice ({first}); remove one", key.start_mark)
        lines[key.value] = key.start_mark.line + 1


class _Resolver(VersionedResolver):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is ScalarNode and value != MERGE and not PLAIN.fullmatch(value):
            implicit = (False, implicit[1])
        return super().resolve(kind, value, implicit)


class _Representer(SafeRepresenter):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(representer: SafeRepresenter, text: str) -> ScalarNode:
    """Represent a text; one with a Unicode line break needs double quotes, or it would be read as a space."""
    return representer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if BREAKS.search(text) else None)
