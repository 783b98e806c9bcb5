"""Pre-tokenization: methods that split a document into pre-tokens, in one module each (short ones share a module).

A pre-tokenization with its options is written as a setting, ``gpt2`` or ``{method: regex, pattern: ...}``.
:func:`pretokenization_of` parses one. In names and paths it is called ``scheme``.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, on_one_line, shortened
from tokbench.kernels.scan import Scanner
from tokbench.pretokenization.patterns.cut import Boundaries, Cut
from tokbench.registry import Method, Registry

if TYPE_CHECKING:
    from tokbench.options import Options

Setting = str | Mapping[str, Any]
"""Name of a pre-tokenization (all options at their defaults), or a mapping of ``method`` and options."""
Function = TypeVar("Function", bound=Callable[..., NDArray[np.int64] | Cut])
MAX_LISTED_VALUES = 8
"""Values of a list that a label shows; of a longer list it has the number, and a checksum that differs for others."""


class Choose(Protocol):
    """Signature of a pre-tokenization that returns a :class:`Cut`: called once with an instance of its options class.

    The options of a method without a class of options are None.
    """

    def __call__(self, options: Any) -> Cut: ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Scheme(Method):
    """A registered pre-tokenization.

    Attributes:
        pattern: equivalent regular expression on text, or several that are applied in turn. None if there is none (the
            document is one pre-token) or if it depends on options.
        scanner: the same in a kernel, without a call into Python; None if there is none.
    """

    pattern: str | tuple[str, ...] | None
    scanner: Scanner | None = field(default=None, repr=False)

    def cut(self, options: "Options | None") -> Cut:
        """Return the splitting functions; here there are no options to apply."""
        splits = (self.pattern,) if isinstance(self.pattern, str) else self.pattern
        if splits is None and self.scanner is not None:
            splits = ()
        return Cut(boundaries=self.function, splits=splits, scanner=self.scanner)


@dataclass(frozen=True, kw_only=True, repr=False)
class ChosenScheme(Scheme):
    """A registered pre-tokenization whose function is called with options (or None) and returns a :class:`Cut`."""

    def cut(self, options: "Options | None") -> Cut:
        """Return the splitting functions for these options.

        Raises:
            TokbenchError: the options define no pre-tokenization.
        """
        cut: Cut = self.function(options)
        return cut


schemes: Registry[Scheme] = Registry("pre-tokenization", "tokbench.pretokenization", Boundaries)


def pretokenization(
    name: str,
    *,
    pattern: str | tuple[str, ...] | None = None,
    options: "type[Options] | None" = None,
    chosen: bool = False,
    scanner: Scanner | None = None,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a pre-tokenization.

    Args:
        name: name in the configuration and on the command line.
        pattern: equivalent regular expression, for the lists of methods and for other libraries.
        options: class of its options. With it, the function is a :class:`Choose`, otherwise a :class:`Boundaries`.
        chosen: True if the function is a :class:`Choose` although it has no options (default: False).
        scanner: the same in a kernel, for a method without options (default: None).
        cites: see :class:`~tokbench.registry.Method`.

    Raises:
        TokbenchError: the name or the pattern is invalid, or the function has the wrong signature.
    """
    schemes.check_name(name)

    def decorate(function: Function) -> Function:
        texts = pattern if isinstance(pattern, tuple) else (pattern or "",)
        schemes.check(all(isinstance(text, str) for text in texts), name, f"its pattern is {pattern!r}; pass text")
        if options is None and not chosen:
            schemes.add(Scheme(name=name, function=function, pattern=pattern, scanner=scanner, cites=cites))
        else:
            method = ChosenScheme(name=name, function=function, pattern=pattern, options_class=options, cites=cites)
            schemes.add(method, protocol=Choose)
        return function

    return decorate


@dataclass(frozen=True)
class Pretokenization:
    """A pre-tokenization with options: splits texts, and has a name for files, paths and tables.

    Two are equal if their settings are equal.

    Attributes:
        text: the setting on one line, as stored in files of counts: the name if it has no options, otherwise canonical
            JSON. It can be parsed as a setting.
        method: the registered pre-tokenization.
        options: an instance of its options class; None if it has none.
    """

    text: str
    method: Scheme = field(compare=False, repr=False)
    options: "Options | None" = field(compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return pretokenization_of, (self.text,)

    @cached_property
    def setting(self) -> str | dict[str, Any]:
        """The name if it has no options, otherwise a JSON-compatible mapping of ``method`` and all options."""
        return _setting(self.method, self.options)

    @property
    def label(self) -> str:
        """Label in tables: the name, with options in brackets."""
        return _label(self.setting)

    @property
    def slug(self) -> str:
        """Label in file names: the name, followed by a hash of the options if it has any."""
        if isinstance(self.setting, str):
            return self.setting
        return f"{self.method.name}_{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @cached_property
    def cut(self) -> Cut:
        """Splitting functions.

        Raises:
            TokbenchError: the options define no pre-tokenization.
        """
        return self.method.cut(self.options)

    @property
    def boundaries(self) -> Boundaries:
        """Function from bytes to boundaries of pre-tokens."""
        return self.cut.boundaries

    @property
    def scanner(self) -> Scanner | None:
        """Scanner for kernels, which needs no call into Python; None if there is none."""
        return self.cut.scanner

    @property
    def splits(self) -> tuple[str, ...] | None:
        """Equivalent regular expressions for other libraries, see :class:`Cut`."""
        return self.cut.splits

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that the results depend on: its own, and those of pre-tokenizations that it calls."""
        return tuple(dict.fromkeys((self.method.module, *self.cut.modules)))


def pretokenization_of(setting: "Setting | Pretokenization", key: str = "pretokenization") -> Pretokenization:
    """Parse the setting of a pre-tokenization.

    Args:
        setting: a name, a mapping of ``method`` and options, such a mapping as JSON, or a :class:`Pretokenization`,
            which is returned unchanged.
        key: name of the setting in messages: a key of the configuration or an option of the command line.

    Raises:
        TokbenchError: there is no such pre-tokenization, or an option is missing, unknown or of the wrong type.
    """
    if isinstance(setting, Pretokenization):
        return setting
    name, values = _parts(setting, key)
    method = schemes[name]
    if method.options_class is None and not values:
        return Pretokenization(name, method, None)
    from tokbench.options import validated

    options = validated(values, method.options, f"{key} ({name})")
    plain = _setting(method, options)
    text = plain if isinstance(plain, str) else _canonical(plain)
    return Pretokenization(text, method, options)


def _parts(setting: Setting, key: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the options in a setting."""
    mapping: Any = setting
    if isinstance(setting, str):
        if not setting.startswith("{"):
            return setting, {}
        try:
            mapping = json.loads(setting)
        except ValueError:
            mapping = None
    if not isinstance(mapping, Mapping) or not isinstance(mapping.get("method"), str):
        excerpt = shortened(setting if isinstance(setting, str) else repr(setting))
        raise TokbenchError(f"{key}: expected a name, or {{method: name, option: value}} (found {excerpt})")
    return mapping["method"], {name: value for name, value in mapping.items() if name != "method"}


def _setting(method: Scheme, options: "Options | None") -> str | dict[str, Any]:
    if options is None or not method.options.model_fields:
        return method.name
    return {"method": method.name, **options.model_dump(mode="json", exclude={"method"})}


def _canonical(setting: Mapping[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _label(value: Any) -> str:
    """Return a setting, or a value in it, on one line."""
    if isinstance(value, Mapping) and value.get("method") == "added_tokens":
        return f"{_label(value['others'])} with added tokens {_label(value['tokens'])}"
    if isinstance(value, Mapping):
        message = ", ".join(
            f"{key.replace('_', ' ')} {_label(inner)}" for key, inner in value.items() if key != "method"
        )
        return f"{value['method']} ({message})" if "method" in value else message
    if isinstance(value, list | tuple) and len(value) > MAX_LISTED_VALUES:
        return f"{len(value):,} ({hashlib.sha256(json.dumps(value).encode()).hexdigest()[:6]})"
    if isinstance(value, list | tuple):
        return ", ".join(map(_label, value))
    return on_one_line(str(value))
