"""Registries: how a method of any kind, such as a construction or a metric, becomes known by its name.

A kind of method is one frozen class, which says what must be known of a method before it is called, and one Protocol,
which says how it is called; both stand in the package that holds the methods of the kind. Configuration, JSON schema,
command line, documentation and error messages are derived from what is registered, so a new method needs no second
place to be mentioned. Built-in methods are the modules of the package; third parties name theirs in the Python
entry-point group of the same name.

The modules of a package, and those that other distributions name for it, found without importing any.

Where tables are declared: the modules of a package, found without importing any.
"""

import importlib
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Any, Generic, TypeVar

from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.options import Options
from tokbench.submodules import entry_points_of, submodules


@dataclass(frozen=True, kw_only=True, repr=False)
class Method:
    """What the methods of every kind have.

    Attributes:
        name: the name in configuration and on the command line.
        function: what it does, as the Protocol of its kind says.
        options: the class of its options.
        cites: what it is from: keys of ``tokbench/references.yaml``, or whole entries of BibTeX. Empty where
            it needs none, None where nothing is said.
    """

    name: str
    function: Callable[..., Any]
    options: type[Options] = Options
    cites: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        options = ", ".join(self.options.model_fields) or "none"
        return f"{type(self).__name__}({self.name!r}, options: {options})"

    @property
    def module(self) -> str:
        return self.function.__module__

    @property
    def definition(self) -> str:
        """The function as a fingerprint names it; its module where it is none of a module's own names."""
        name = getattr(self.function, "__name__", "")
        own = getattr(sys.modules.get(self.module), name, None) is self.function if name else False
        return f"{self.module}:{name}" if own else self.module

    @property
    def summary(self) -> str:
        """First line of the method's documentation."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


Kind = TypeVar("Kind", bound=Method)
Derived = TypeVar("Derived")


def several_texts(value: Any) -> bool:
    """Whether an attribute is texts, none of them included, and not one text, which is gone through by its letters."""
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


RESERVED = ("method", "type", "kind")
"""Keys by which a configuration names a method; an option of that name could never be set."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""What a name of a method is: it becomes a key of configurations, a part of paths and a wildcard of the workflow."""
TOGETHER = ("built_in", "well_known")
"""Modules that hold several built-in methods."""


class Registry(Generic[Kind]):
    """The methods of one kind, by name.

    Args:
        kind: what a method of this kind is called in messages, for example ``"construction"``.
        package: the package whose modules hold the built-in methods, imported on first look-up; the entry-point group
            in which other distributions name modules of theirs bears the same name.
        protocol: how the functions of the kind are called.
    """

    def __init__(self, kind: str, package: str, protocol: type) -> None:
        self.kind = kind
        self.package = package
        self.protocol = protocol
        self._methods: dict[str, Kind] = {}
        self._derived: dict[Callable[[list[Kind]], Any], tuple[list[Kind], Any]] = {}
        self._loaded = False

    def add(self, method: Kind, keywords: Iterable[str] = (), protocol: type | None = None) -> None:
        """Make a method known; a name can be taken only once.

        Args:
            method: the method.
            keywords: those of the Protocol's keywords with a default that this method is called with.
            protocol: how this method's function is called, where that is not the Protocol of the kind.

        Raises:
            TokbenchError: the name is none or taken, an attribute has no such value, an option could never be set, or
                the function cannot be called as the Protocol says; the message is for the author of the method.
        """
        self.check_name(method.name)
        self._check_values(method)
        self.check(
            isinstance(method.options, type) and issubclass(method.options, Options),
            method.name,
            f"its options are {method.options!r}; give a subclass of tokbench.options.Options",
        )
        for key in RESERVED:
            self.check(
                key not in method.options.model_fields, method.name, f"an option cannot be called '{key}'; rename it"
            )
        known = self._methods.get(method.name)
        if known is not None and known.module != method.module:
            raise TokbenchError(f"{self.kind} '{method.name}' is registered twice: {known.module}, {method.module}")
        self._check_call(method, set(keywords), protocol or self.protocol)
        self._methods[method.name] = method

    def check(self, holds: bool, name: str, mistake: str) -> None:
        """Tell the author of a method of a mistake in how it is registered.

        Raises:
            TokbenchError: it does not hold.
        """
        if not holds:
            raise TokbenchError(f"{self.kind} '{shortened(str(name))}': {mistake}")

    def check_name(self, name: str) -> None:
        """Tell the author of a method of a name that none can have.

        Decorators check it before they are given the function: without brackets they are called with it alone, and it
        would never register.

        Raises:
            TokbenchError: it is no text, or not of the form :data:`NAME`.
        """
        self.check(
            isinstance(name, str) and NAME.fullmatch(name) is not None,
            name,
            "a name is a text of letters (a to z), digits and '_' that starts with a letter; give such a name",
        )

    def _check_values(self, method: Kind) -> None:
        """What it cites is several texts, and what may be true or false is either."""
        cites = method.cites
        told = cites is None or several_texts(cites)
        self.check(told, method.name, f"its cites is {cites!r:.60}; give a tuple of texts, ('...',) where it is one")
        if cites and not method.module.startswith(f"{__package__}."):
            self._check_cited(method.name, cites)
        for one in fields(method):
            if isinstance(one.default, bool):
                value = getattr(method, one.name)
                self.check(isinstance(value, bool), method.name, f"its {one.name} is {value!r:.60}; give True or False")

    def _check_cited(self, name: str, cites: Iterable[str]) -> None:
        """Look up what a method of another distribution cites; tests hold built-in ones to it, and no start waits."""
        from tokbench.references import NO_KEY, WHOLE, known

        for one in cites:
            cited = WHOLE.match(one) or one in known()
            self.check(bool(cited), name, f"of what it cites, {NO_KEY.format(shortened(one))}")

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
                f"{self.kind} '{method.name}': {name} is called as ({called}), which it does not take ({error}); "
                "change its parameters"
            ) from None

    def load(self) -> None:
        """Import every built-in module of the kind and every module named in the entry-point group."""
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
        """A method by name, None where there is none; the modules of other built-in methods are not imported.

        A built-in method stands in the module of its name, or with others in one of :data:`TOGETHER`.
        """
        if not isinstance(name, str):
            return None
        for module in (name, *TOGETHER):
            if name not in self._methods and module.isidentifier() and find_spec(f"{self.package}.{module}"):
                importlib.import_module(f"{self.package}.{module}")
        if name not in self._methods:
            self._load_entry_points()
        return self._methods.get(name)

    def __getitem__(self, name: str) -> Kind:
        """A method by name.

        Raises:
            TokbenchError: there is none; the message lists those that there are.
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
        """True, which needs no look at the methods."""
        return True

    def __repr__(self) -> str:
        """The kind and all names, for which the module of every method is imported: some tenths of a second."""
        return f"<{self.kind}: {', '.join(self)}>"

    def __iter__(self) -> Iterator[str]:
        self.load()
        return iter(sorted(self._methods))

    def methods(self) -> list[Kind]:
        """All methods, ordered by name."""
        return [self[name] for name in self]

    def derived(self, make: Callable[[list[Kind]], Derived]) -> Derived:
        """What a function makes of all methods: called once, and again where others are known than before."""
        methods = self.methods()
        if make not in self._derived or self._derived[make][0] != methods:
            self._derived[make] = methods, make(methods)
        made: Derived = self._derived[make][1]
        return made


PLACES: dict[str, tuple[str, ...]] = {
    "tabulate": ("tokbench.tabulation",),
    "analyse": ("tokbench.statistics", "tokbench.published.comparison", "tokbench.published.translations"),
    "cut_examples": ("tokbench.examples",),
}
"""The packages, and modules by themselves, whose tables each command makes."""


def modules_in(place: str, folders: Iterable[str] | None) -> list[str]:
    """Names of modules that may declare tables.

    Args:
        place: name of a package or module, and of the entry-point group of other distributions.
        folders: where the package lies; None for a module by itself.

    Returns:
        The module, or those of the package in alphabetical order, then those of other distributions.
    """
    own = [place] if folders is None else [f"{place}.{name}" for name in submodules(folders)]
    return [*own, *(entry.module for entry in entry_points_of(place))]
