"""Pre-tokenization: one module per method of cutting a document into pre-tokens, and several where these are short.

A pre-tokenization with its options is written as a setting, ``gpt2`` or ``{method: regex, pattern: ...}``;
:func:`pretokenization_of` makes of one what cuts texts. In names and paths ``scheme`` is short for it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, on_one_line, shortened
from tokbench.kernels.scan import Scanner
from tokbench.options import Options, validated
from tokbench.pretokenization.patterns.cut import Boundaries, Cut
from tokbench.registry import Method, Registry

Setting = str | Mapping[str, Any]
"""A pre-tokenization's name, where it has no options or takes their defaults; or its ``method`` and options."""


class Choose(Protocol):
    """How a pre-tokenization with options is called: once for an instance of its class of options."""

    def __call__(self, options: Any) -> Cut: ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Scheme(Method):
    """A named pre-tokenization.

    Attributes:
        pattern: the regular expression that defines it on text, or several, one after another; None where there is
            none, as where the whole document is one pre-token, or where options choose it.
    """

    pattern: str | tuple[str, ...] | None

    def cut(self, options: Options) -> Cut:
        """What it does with these options; here there are none to choose."""
        from tokbench.pretokenization.built_in import KERNEL_SCHEMES

        scanner = KERNEL_SCHEMES.get(self.name)
        splits = (self.pattern,) if isinstance(self.pattern, str) else self.pattern
        return Cut(
            boundaries=self.function, splits=() if splits is None and scanner is not None else splits, scanner=scanner
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ChosenScheme(Scheme):
    """A pre-tokenization whose function is called with options, and says what is done with them."""

    def cut(self, options: Options) -> Cut:
        """What it does with these options.

        Raises:
            TokbenchError: they make no pre-tokenization.
        """
        made: Cut = self.function(options)
        return made


schemes: Registry[Scheme] = Registry("pre-tokenization", "tokbench.pretokenization", Boundaries)

Function = TypeVar("Function", bound=Callable[..., NDArray[np.int64] | Cut])


def pretokenization(
    name: str,
    *,
    pattern: str | tuple[str, ...] | None = None,
    options: type[Options] | None = None,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a pre-tokenization.

    Args:
        name: the name in configuration and on the command line.
        pattern: the regular expression that defines it, for the lists of methods and other libraries.
        options: the class of its options. The function then is a :class:`Choose`, otherwise a :class:`Boundaries`.
        cites: see :class:`~tokbench.registry.Method`.

    Raises:
        TokbenchError: the name or the pattern is none, or the function does not fit its Protocol.
    """
    schemes.check_name(name)

    def decorate(function: Function) -> Function:
        texts = pattern if isinstance(pattern, tuple) else (pattern or "",)
        schemes.check(all(isinstance(text, str) for text in texts), name, f"its pattern is {pattern!r}; give its text")
        if options is None:
            schemes.add(Scheme(name=name, function=function, pattern=pattern, cites=cites))
        else:
            chosen = ChosenScheme(name=name, function=function, pattern=pattern, options=options, cites=cites)
            schemes.add(chosen, protocol=Choose)
        return function

    return decorate


@dataclass(frozen=True)
class Pretokenization:
    """A pre-tokenization with its options: what cuts texts, and what names it in files, paths and tables.

    Two are equal where their settings are.

    Attributes:
        text: the setting on one line, by which files of counts name it: the name alone where it has no options, else
            canonical JSON. It is itself a setting.
        method: the pre-tokenization as it registered.
        options: an instance of its class of options.
    """

    text: str
    method: Scheme = field(compare=False, repr=False)
    options: Options = field(compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return pretokenization_of, (self.text,)

    @cached_property
    def setting(self) -> str | dict[str, Any]:
        """The name alone where it has no options, else ``method`` and all options, as JSON holds them."""
        return _setting(self.method, self.options)

    @property
    def label(self) -> str:
        """What tables call it: its name, and its options in brackets."""
        return _label(self.setting)

    @property
    def slug(self) -> str:
        """What file names call it: its name alone where it has no options, else with a hash of them."""
        if isinstance(self.setting, str):
            return self.setting
        return f"{self.method.name}_{hashlib.sha256(self.text.encode()).hexdigest()[:12]}"

    @cached_property
    def cut(self) -> Cut:
        """What it does.

        Raises:
            TokbenchError: the options make no pre-tokenization.
        """
        return self.method.cut(self.options)

    @property
    def boundaries(self) -> Boundaries:
        """Where it cuts a text."""
        return self.cut.boundaries

    @property
    def scanner(self) -> Scanner | None:
        """What kernels cut by without a call into Python, or None."""
        return self.cut.scanner

    @property
    def splits(self) -> tuple[str, ...] | None:
        """The regular expressions by which other libraries do the same, see :class:`Cut`."""
        return self.cut.splits

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that its results depend on: its own, and those of others that it calls."""
        return tuple(dict.fromkeys((self.method.module, *self.cut.modules)))


def pretokenization_of(setting: "Setting | Pretokenization", key: str = "pretokenization") -> Pretokenization:
    """The pre-tokenization of a setting.

    Args:
        setting: the name, a mapping with ``method`` and options, such a mapping as JSON, or what this function gave.
        key: what messages call the setting: a key of the configuration or an option of the command line.

    Raises:
        TokbenchError: there is no such pre-tokenization, or an option is missing, unknown or of another type.
    """
    if isinstance(setting, Pretokenization):
        return setting
    name, given = _parts(setting, key)
    method = schemes[name]
    if not method.options.model_fields and not given:
        return Pretokenization(name, method, method.options())
    options = validated(given, method.options, f"{key} ({name})")
    plain = _setting(method, options)
    text = plain if isinstance(plain, str) else _canonical(plain)
    return Pretokenization(text, method, options)


def _parts(setting: Setting, key: str) -> tuple[str, dict[str, Any]]:
    """A pre-tokenization's name and the options that are given."""
    found: Any = setting
    if isinstance(setting, str):
        if not setting.startswith("{"):
            return setting, {}
        try:
            found = json.loads(setting)
        except ValueError:
            found = None
    if not isinstance(found, Mapping) or not isinstance(found.get("method"), str):
        shown = shortened(setting if isinstance(setting, str) else repr(setting))
        raise TokbenchError(f"{key}: expected a name, or {{method: name, option: value}} (found {shown})")
    return found["method"], {name: value for name, value in found.items() if name != "method"}


def _setting(method: Scheme, options: Options) -> str | dict[str, Any]:
    if not method.options.model_fields:
        return method.name
    return {"method": method.name, **options.model_dump(mode="json", exclude={"method"})}


def _canonical(setting: Mapping[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _label(value: Any) -> str:
    """A setting, or a value in it, on one line."""
    if isinstance(value, Mapping):
        told = ", ".join(f"{key.replace('_', ' ')} {_label(inner)}" for key, inner in value.items() if key != "method")
        return f"{value['method']} ({told})" if "method" in value else told
    if isinstance(value, list | tuple):
        return ", ".join(map(_label, value))
    return on_one_line(str(value))
