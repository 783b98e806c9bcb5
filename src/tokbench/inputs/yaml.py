"""YAML as configurations and the command line hold it: mappings, lists and plain values, each key once.

What YAML has beyond that is rejected, or bounded where it may be meant: tags name types of a program, aliases can stand
for more than any memory holds, brackets can lie deeper than any reader goes, and of two equal keys one would be lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from tokbench.errors import TokbenchError, shortened
from tokbench.inputs.regular import check_regular
from tokbench.inputs.scalars import plain_value

DEEPEST = 50
"""Brackets or indents within each other."""
MOST_VALUES = 1_000_000
"""Values of a document, those that an alias repeats counted again."""
LONGEST = 1 << 24
"""Bytes of a file."""
MERGE = "<<"
BOM = "\ufeff"


@dataclass(frozen=True)
class Read:
    """What a text holds.

    Attributes:
        value: the value, without what is wrong.
        mistakes: one line for each place that is wrong though all else could be read.
    """

    value: Any
    mistakes: list[str]


def read_yaml(path: Path | str) -> Read:
    """The value in a file.

    Raises:
        TokbenchError: the file cannot be read, or is no YAML.
    """
    check_regular(path, descriptors=True)
    try:
        with Path(path).open("rb") as file:
            content = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TokbenchError(f"{path}: cannot be read ({reason}); name an existing file") from None
    if len(content) > LONGEST:
        raise TokbenchError(f"{path}: larger than {LONGEST >> 20} MiB, so no configuration; name another file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        byte = content[error.start]
        raise TokbenchError(f"{path}:{line}:{column}: not UTF-8 (byte 0x{byte:02x}); save the file as UTF-8") from None
    return survey(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """The value of a text, for example of an argument of the command line.

    Raises:
        TokbenchError: one line for each place that is wrong.
    """
    read = survey(text, name)
    if read.mistakes:
        raise TokbenchError("\n".join(read.mistakes))
    return read.value


def survey(text: str, name: str) -> Read:
    """The value of a text, together with what is wrong in it.

    Args:
        text: the YAML.
        name: what it came from, the file's name or the option.

    Raises:
        TokbenchError: the text as a whole cannot be read.
    """
    try:
        composer = _Composer(name)
        for event in yaml.parse(text.removeprefix(BOM), Loader=yaml.SafeLoader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(filter(None, (error.problem, error.context))).replace("'\\x00'", "the end")
        raise TokbenchError(f"{_place(name, mark)}: not YAML ({' '.join(reason.split())}); mend it") from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        cannot = f"the character U+{error.character:04X} cannot stand here"
        raise TokbenchError(f"{name}:{line}:{column}: not YAML ({cannot}); remove it") from None
    return Read(composer.value, composer.mistakes)


def _place(name: str, mark: Any) -> str:
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name


@dataclass
class _Open:
    """A mapping or list of which the end has not come.

    Attributes:
        value: what it holds so far.
        anchor: the name under which aliases repeat it.
        values: how many values it holds, itself counted.
        keys: the mapping's own keys with the lines where they stand.
        key: the key whose value comes next; None where a key comes next.
        merged: mappings that ``<<`` names, whose keys come last.
        lost: whether the value that comes next belongs to no key.
    """

    value: Any
    anchor: str | None
    values: int = 1
    keys: dict[str, int] = field(default_factory=dict)
    key: str | None = None
    merged: list[dict[str, Any]] = field(default_factory=list)
    lost: bool = False

    @property
    def awaits_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None and not self.lost


class _Composer:
    """Puts a value together from the parser's events, one after another, without recursion."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.mistakes: list[str] = []
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    self._reject(event, "a second document starts here; leave one in the file")
            case yaml.ScalarEvent():
                self._tag(event)
                self._add(event, self._scalar(event), 1, event.anchor)
            case yaml.AliasEvent():
                known = self.anchors.get(event.anchor or "")
                if known is None:
                    self._reject(event, f"alias '*{event.anchor}' of nothing that stands whole before it; remove it")
                self._add(event, *known, None)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._tag(event)
                if self.open and self.open[-1].awaits_key:
                    self._reject(event, "a key must be text, and here a list or a mapping is one; put it in quotes")
                if len(self.open) == DEEPEST:
                    self._reject(event, f"nested more than {DEEPEST} deep; no configuration is")
                self.open.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self.open.pop()
                for mapping in done.merged:
                    done.value = {**mapping, **done.value}
                self._add(event, done.value, done.values, done.anchor)

    def _add(self, event: yaml.Event, value: Any, values: int, anchor: str | None) -> None:
        """Put a whole value where it belongs."""
        if anchor is not None:
            self.anchors[anchor] = (value, values)
        if not self.open:
            self.value = value
            return
        within = self.open[-1]
        within.values += values
        if within.values > MOST_VALUES:
            self._reject(event, f"more than {MOST_VALUES:,} values, by way of aliases; write fewer")
        if within.awaits_key:
            self._key(event, within, value)
        elif isinstance(within.value, list):
            within.value.append(value)
        else:
            if within.key == MERGE and not within.lost:
                within.merged.extend(self._mappings(event, value))
            elif within.key is not None and not within.lost:
                within.value[within.key] = value
            within.key, within.lost = None, False

    def _key(self, event: yaml.Event, within: _Open, key: Any) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 0
        if not isinstance(key, str):
            shown = shortened(str(getattr(event, "value", key)))
            self._note(event, f"the key {shown or 'that is empty'} is not text; put it in quotes")
            within.lost = True
        elif key in within.keys and key != MERGE:
            self._note(event, f"the key '{shortened(key)}' stands twice (first in line {within.keys[key]}); remove one")
            within.lost = True
        else:
            within.keys[key] = line
            within.key = key

    def _mappings(self, event: yaml.Event, value: Any) -> Iterator[dict[str, Any]]:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield one
            else:
                self._note(event, "'<<' takes a mapping, or a list of them; name one by an alias")

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        if not event.implicit[0]:
            try:
                text: str = event.value.encode("utf-16", "surrogatepass").decode("utf-16")
            except UnicodeDecodeError:
                text = ""
                self._note(event, "half a pair of surrogates, which is no character; write the character itself")
            if "\0" in text:
                self._note(event, "text holds the character U+0000; remove it")
            return text
        try:
            return plain_value(event.value)
        except ValueError as error:
            self._note(event, str(error))
            return event.value

    def _tag(self, event: yaml.NodeEvent) -> None:
        if event.tag is not None:  # type: ignore[attr-defined]
            self._note(event, "tags such as '!!int' are not read; remove it, and put text in quotes")

    def _note(self, event: yaml.Event, reason: str) -> None:
        self.mistakes.append(f"{_place(self.name, event.start_mark)}: {reason}")

    def _reject(self, event: yaml.Event, reason: str) -> NoReturn:
        raise TokbenchError("\n".join([*self.mistakes, f"{_place(self.name, event.start_mark)}: {reason}"]))
