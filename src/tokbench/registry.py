"""Registries of methods by name, such as constructions and metrics.

Each kind of method has a frozen class for its metadata and a Protocol for its function, both in the package of the
kind. Configuration, JSON schema, command line, documentation and error messages are derived from the registered
methods, so a new method is declared only once. Built-in methods are modules of the package. Other distributions name
their modules in the entry-point group with the name of the package.

:func:`modules_in` lists modules that may declare tables, without importing them.
"""

import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.submodules import entry_points_of, submodules

if TYPE_CHECKING:
    from tokbench.options import Options

Derived = TypeVar("Derived")
RESERVED = ("method", "type", "kind")
"""Keys that name a method in configurations; options cannot have these names."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Pattern of names of methods, which are also configuration keys, path components and workflow wildcards."""
SHARED_MODULES = ("built_in", "well_known")
"""Modules with several built-in methods."""
PLACES: dict[str, tuple[str, ...]] = {
    "tabulate": ("tokbench.tabulation",),
    "analyse": ("tokbench.statistics", "tokbench.published.comparison", "tokbench.published.translations"),
    "cut_examples": ("tokbench.examples",),
}
"""Packages and single modules that declare the tables of each command."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Method:
    """Metadata of a method, common to all kinds.

    Attributes:
        name: name in configurations and on the command line.
        function: the function, as in the Protocol of its kind.
        options_class: class of its options. Default: None (no options).
        cites: sources: keys of ``tokbench/references.yaml``, or complete BibTeX entries. Empty if there are none.
            Default: None (unknown).
    """

    name: str
    function: Callable[..., Any]
    options_class: "type[Options] | None" = None
    cites: tuple[str, ...] | None = None

    @property
    def options(self) -> "type[Options]":
        """Class of its options; :class:`tokbench.options.Options` if it has none, which imports pydantic."""
        if self.options_class is None:
            from tokbench.options import Options

            return Options
        return self.options_class

    def defaults(self) -> Any:
        """Return the default options, or None for a method without options."""
        return None if self.options_class is None else self.options_class()

    def __repr__(self) -> str:
        options = ", ".join(self.options_class.model_fields if self.options_class else ()) or "none"
        return f"{type(self).__name__}({self.name!r}, options: {options})"

    @property
    def module(self) -> str:
        return self.function.__module__

    @property
    def definition(self) -> str:
        """Name of the function in fingerprints: ``module:name``, or only the module if it has no such name."""
        name = getattr(self.function, "__name__", "")
        own = getattr(sys.modules.get(self.module), name, None) is self.function if name else False
        return f"{self.module}:{name}" if own else self.module

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


Kind = TypeVar("Kind", bound=Method)


def several_texts(value: Any) -> bool:
    """Return True if a value is a collection of strings (possibly empty), but not a single string."""
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(item, str) for item in value)


class Registry(Generic[Kind]):
    """Methods of one kind by name.

    Args:
        kind: name of the kind in messages, for example ``"construction"``.
        package: package of the built-in methods, imported on first look-up; also the name of the entry-point group of
            other distributions.
        protocol: Protocol of the functions.
        named_by: option by which the options of each method name it. Default: None (options do not name their method).
    """

    def __init__(self, kind: str, package: str, protocol: type, named_by: str | None = None) -> None:
        self.kind = kind
        self.package = package
        self.protocol = protocol
        self.named_by = named_by
        self._methods: dict[str, Kind] = {}
        self._derived: dict[Callable[[list[Kind]], Any], tuple[list[Kind], Any]] = {}
        self._loaded = False

    def add(self, method: Kind, keywords: Iterable[str] = (), protocol: type | None = None) -> None:
        """Register a method.

        Args:
            method: the method.
            keywords: optional keywords of the Protocol that this method receives. Default: none.
            protocol: Protocol of the function. Default: the Protocol of the kind.

        Raises:
            TokbenchError: the name is invalid or already registered, an attribute or option is invalid, or the
                signature of the function does not match the Protocol. The message addresses the author of the method.
        """
        self.check_name(method.name)
        self._check_values(method)
        if method.options_class is not None:
            self._check_options(method.name, method.options_class)
        known = self._methods.get(method.name)
        if known is not None and known.module != method.module:
            raise TokbenchError(f"{self.kind} '{method.name}' is registered twice: {known.module}, {method.module}")
        self._check_call(method, set(keywords), protocol or self.protocol)
        self._methods[method.name] = method

    def _check_options(self, name: str, options: Any) -> None:
        from tokbench.options import Options

        valid = isinstance(options, type) and issubclass(options, Options)
        self.check(valid, name, f"its options are {options!r}; pass a subclass of tokbench.options.Options")
        for key in RESERVED:
            free = key == self.named_by or key not in options.model_fields
            self.check(free, name, f"an option cannot be called '{key}'; rename it")

    def check(self, holds: bool, name: str, mistake: str) -> None:
        """Raise an error about the registration of a method, unless a condition is true.

        Raises:
            TokbenchError: the condition is false.
        """
        if not holds:
            raise TokbenchError(f"{self.kind} '{shortened(str(name))}': {mistake}")

    def check_name(self, name: str) -> None:
        """Check the name of a method.

        Decorators call this before they receive the function, because a decorator without brackets receives the
        function as its name.

        Raises:
            TokbenchError: the name is not a string, or does not match :data:`NAME`.
        """
        self.check(
            isinstance(name, str) and NAME.fullmatch(name) is not None,
            name,
            "a name is a string of letters (a to z), digits and '_' that starts with a letter; pass such a name",
        )

    def _check_values(self, method: Kind) -> None:
        """Check the types of ``cites`` and of Boolean attributes."""
        cites = method.cites
        valid = cites is None or several_texts(cites)
        self.check(valid, method.name, f"its cites is {cites!r:.60}; pass a tuple of strings, such as ('...',)")
        if cites and not method.module.startswith(f"{__package__}."):
            self._check_cited(method.name, cites)
        for field in fields(method):
            if isinstance(field.default, bool):
                value = getattr(method, field.name)
                self.check(
                    isinstance(value, bool), method.name, f"its {field.name} is {value!r:.60}; pass True or False"
                )

    def _check_cited(self, name: str, cites: Iterable[str]) -> None:
        """Look up the citations of an external method; tests check built-in ones, to keep imports fast."""
        from tokbench.references import COMPLETE_ENTRY, NO_KEY, read_references

        for key in cites:
            cited = COMPLETE_ENTRY.match(key) or key in read_references()
            self.check(bool(cited), name, f"cites: {NO_KEY.format(shortened(key))}")

    def _check_call(self, method: Kind, keywords: set[str], protocol: type) -> None:
        call = list(signature(protocol.__call__).parameters.values())[1:]
        places = [parameter.name for parameter in call if parameter.kind is not Parameter.KEYWORD_ONLY]
        named = [
            parameter.name
            for parameter in call
            if parameter.kind is Parameter.KEYWORD_ONLY
            and (parameter.default is Parameter.empty or parameter.name in keywords)
        ]
        called = ", ".join([*places, *(f"{keyword}=..." for keyword in named)])
        try:
            signature(method.function).bind(*places, **dict.fromkeys(named))
        except TypeError as error:
            name = getattr(method.function, "__qualname__", method.function)
            raise TokbenchError(
                f"{self.kind} '{method.name}': {name} is called as ({called}), which it does not accept ({error}); "
                "change its parameters"
            ) from None

    def load(self) -> None:
        """Import all built-in modules of the kind and all modules of the entry-point group."""
        if self._loaded:
            return
        package = importlib.import_module(self.package)
        for name in submodules(package.__path__):
            importlib.import_module(f"{self.package}.{name}")
        self._load_entry_points()
        self._loaded = True

    def _load_entry_points(self) -> None:
        for entry in entry_points_of(self.package):
            entry.load()

    def find(self, name: str) -> Kind | None:
        """Return a method by name, or None; does not import the modules of other built-in methods.

        A built-in method is in the module of its name, or in one of :data:`TOGETHER`.
        """
        if not isinstance(name, str):
            return None
        for module in (name, *SHARED_MODULES):
            if name not in self._methods and module.isidentifier() and find_spec(f"{self.package}.{module}"):
                importlib.import_module(f"{self.package}.{module}")
        if name not in self._methods:
            self._load_entry_points()
        return self._methods.get(name)

    def __getitem__(self, name: str) -> Kind:
        """Return a method by name.

        Raises:
            TokbenchError: the name is unknown; the message lists the known names.
        """
        method = self.find(name)
        if method is None:
            raise TokbenchError(unknown(str(name), self.kind, list(self)))
        return method

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __len__(self) -> int:
        self.load()
        return len(self._methods)

    def __bool__(self) -> bool:
        """Return True, without loading the methods."""
        return True

    def __repr__(self) -> str:
        """Return the kind and all names; imports all modules, which takes some tenths of a second."""
        return f"<{self.kind}: {', '.join(self)}>"

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(sorted(self._methods))

    def registered(self) -> list[Kind]:
        """Return the methods that are registered so far, without loading others."""
        return list(self._methods.values())

    def methods(self) -> list[Kind]:
        """Return all methods, sorted by name."""
        return [self[name] for name in self]

    def derived(self, make: Callable[[list[Kind]], Derived]) -> Derived:
        """Return the result of a function of all methods, cached until the methods change."""
        methods = self.methods()
        if make not in self._derived or self._derived[make][0] != methods:
            self._derived[make] = methods, make(methods)
        made: Derived = self._derived[make][1]
        return made


def modules_in(place: str, folders: Iterable[str] | None) -> list[str]:
    """List modules that may declare tables.

    Args:
        place: name of a package or module, and of the entry-point group.
        folders: folders of the package; None for a single module.

    Returns:
        The module, or the modules of the package and of its inner packages, then those of other distributions. They
        are sorted by their own names, so a move to another inner package keeps the order of tables.
    """
    names = [] if folders is None else sorted(submodules(folders, inner=True), key=lambda name: name.split(".")[::-1])
    own = [place] if folders is None else [f"{place}.{name}" for name in names]
    return [*own, *(entry.module for entry in entry_points_of(place))]
