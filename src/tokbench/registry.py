"""Named methods: how a construction, a segmentation, a scheme or a metric becomes known to the workflow.

A method is one function in one module, registered under its name together with its typed options. Configuration,
JSON schema, command line, documentation and error messages are all derived from what is registered here, so a new
method needs no second place to be mentioned. Built-in methods are the modules of a package; third parties name
theirs in the Python entry-point group of the same kind.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from tokbench.errors import TokbenchError, unknown
from tokbench.options import Options


@dataclass(frozen=True)
class Method:
    """One registered method.

    Attributes:
        name: the name in configuration and on the command line.
        function: what it does; the signature belongs to the kind.
        options: the class of its options.
        traits: what the workflow must know before it calls the method, for example ``{"source": "counts"}``.
    """

    name: str
    function: Callable[..., Any]
    options: type[Options]
    traits: dict[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return self.function.__module__

    @property
    def summary(self) -> str:
        """First line of the method's documentation."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


RESERVED = ("method", "type", "kind")
"""Keys by which a configuration names a method; an option of that name could never be set."""


class Registry:
    """The methods of one kind, by name.

    Args:
        kind: what a method of this kind is called in messages, for example ``"construction"``.
        package: the package whose modules hold the built-in methods; they are imported on first look-up.
        group: the entry-point group in which other distributions name modules of theirs.
    """

    def __init__(self, kind: str, package: str, group: str) -> None:
        self.kind = kind
        self.package = package
        self.group = group
        self._methods: dict[str, Method] = {}
        self._loaded = False

    def register(
        self, name: str, *, options: type[Options] = Options, **traits: Any
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator that makes a function known as ``name``; a name can be taken only once."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            for key in RESERVED:
                if key in options.model_fields:
                    raise TokbenchError(f"{self.kind} '{name}': an option cannot be called '{key}'; rename it")
            known = self._methods.get(name)
            if known is not None and known.module != function.__module__:
                raise TokbenchError(f"{self.kind} '{name}' is registered twice: {known.module}, {function.__module__}")
            self._methods[name] = Method(name, function, options, traits)
            return function

        return decorate

    def load(self) -> None:
        """Import every built-in module of the kind and every module named in the entry-point group."""
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__, f"{self.package}."):
            importlib.import_module(module.name)
        for entry in sorted(entry_points(group=self.group), key=lambda entry: entry.name):
            entry.load()
        self._loaded = True

    def __getitem__(self, name: str) -> Method:
        """A method by name; a built-in one, whose module bears its name, without importing all the others."""
        module = f"{self.package}.{name}"
        if name not in self._methods and name.isidentifier() and find_spec(module):
            importlib.import_module(module)
        if name not in self._methods:
            self.load()
        if name not in self._methods:
            raise TokbenchError(unknown(name, self.kind, self._methods))
        return self._methods[name]

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(sorted(self._methods))

    def methods(self) -> list[Method]:
        """All methods, ordered by name."""
        return [self[name] for name in self]
