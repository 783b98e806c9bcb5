"""Vocabulary construction: one module per method, each choosing the tokens of a vocabulary."""

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tokbench.errors import TokbenchError, listed, unknown
from tokbench.options import Options
from tokbench.registry import Method, Registry
from tokbench.segmentation import Segmentation, segmentations
from tokbench.vocabulary import Vocabulary

Source = Literal["counts", "scores", "documents"]
Function = TypeVar("Function", bound=Callable[..., Vocabulary])


class Build(Protocol):
    """Signature of a construction."""

    def __call__(
        self, source: Any, size: int, options: Any, *, seed: int, threads: int, initial: Vocabulary = ...
    ) -> Vocabulary:
        """Build a vocabulary.

        Args:
            source: :class:`~tokbench.pretokens.PretokenCounts`. For a method whose source is ``"scores"``, the scored
                documents of a byte language model (:class:`~tokbench.candidates.scored_text.ScoredDocuments`). For one
                whose source is ``"documents"``, running text (:class:`~tokbench.candidates.running_text.Documents`).
            size: number of tokens wanted, including the 256 bytes. Fewer are returned if the text does not yield that
                many.
            options: an instance of the method's option class.
            seed: seed of everything that is drawn at random.
            threads: number of threads. The result does not depend on it.
            initial: the vocabulary to start from. It is passed only to methods that start from one.
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Construction(Method):
    """A method that chooses the tokens of a vocabulary.

    Attributes:
        segmentation: name of the default segmentation of its vocabularies. Options with a property
            ``own_segmentation`` that is not None have that one.
        source: kind of input that it reads. Default: ``"counts"``.
        alphabet: smallest size that it can build. Default: 256.
        initial: True if it starts from an initial vocabulary (a top-down method). Its options then have the fields
            ``initial`` and ``initial_size``. Default: False.
        gives_initial: True if top-down methods may start from its vocabularies. Default: False.
        continuation: True if it distinguishes tokens at the start of a pre-token from those inside one. Default: False.
        languages: True if it reads counts by language (:class:`~tokbench.pretokens.by_language.LanguageCounts`), with
            a development set if there is one. It then has the source ``"counts"``, and counts without languages are
            one language. Default: False.
    """

    function: Build
    segmentation: str
    source: Source = "counts"
    alphabet: int = 256
    initial: bool = False
    gives_initial: bool = False
    continuation: bool = False
    languages: bool = False

    def segmentation_with(self, options: Options | None) -> str:
        """Return the name of the default segmentation, which is the options' ``own_segmentation`` if they have one."""
        return getattr(options, "own_segmentation", None) or self.segmentation

    def own_segmentation(self, options: Options | None = None) -> Segmentation:
        """Return the method's default segmentation, which another package may have registered later.

        Args:
            options: the options of a vocabulary. Default: None, the method's defaults.

        Raises:
            TokbenchError: no segmentation of that name exists. The message is for the author of the method.
        """
        name = self.segmentation_with(options)
        segmentation = segmentations.find(name)
        if segmentation is None:
            reason = unknown(name, segmentations.kind, segmentations)
            raise TokbenchError(f"{constructions.kind} '{self.name}': its segmentation {reason}")
        return segmentation

    def unfit_segmentation(self, options: Options, name: str) -> str | None:
        """Return why a segmentation does not fit the options of a vocabulary; None if it does.

        Segmentations that need nothing but tokens always fit. Of the others only the default one replays the training
        if the options have their own.
        """
        own = self.segmentation_with(options)
        if own in (self.segmentation, name) or segmentations[name].needs is None:
            return None
        return f"'{name}' does not replay the merges of '{self.name}' with these options; use '{own}'"


constructions: Registry[Construction] = Registry("construction", "tokbench.construction", Build)


class _GivesInitial:
    """Check and JSON schema of the names of constructions that can provide an initial vocabulary."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_check_method, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": _initial_methods()}


def _initial_methods() -> list[str]:
    return [method.name for method in constructions.methods() if method.gives_initial]


def _check_method(name: str) -> str:
    try:
        gives = constructions[name].gives_initial
    except TokbenchError:
        gives = False
    if not gives:
        raise ValueError(unknown(name, "initial vocabulary", _initial_methods()))
    return name


InitialName = Annotated[str, _GivesInitial()]
"""Name of a construction to start from. "Tokenization Is More Than Compression", section 3.2, uses ngram, bpe and
unigram."""


class InitialRecipe(str):
    """A construction to start from, with its own options.

    As text, and in comparisons, it equals the construction's name. Methods can therefore read ``options.initial`` as a
    name in either case.

    Attributes:
        options: an instance of the construction's option class.
    """

    options: Options

    def __new__(cls, method: str, options: Options) -> Self:
        recipe = super().__new__(cls, method)
        recipe.options = options
        return recipe

    def __getnewargs__(self) -> tuple[str, Options]:  # type: ignore[override]
        return str(self), self.options

    @property
    def setting(self) -> dict[str, Any]:
        """``method`` and all options, as JSON values."""
        return {"method": str(self), **self.options.model_dump(mode="json")}


class _NameOrRecipe:
    """A name, or a mapping with ``method`` and options. A mapping with only default options becomes the name."""

    def _read(self, value: Any, handler: Callable[[Any], Options]) -> str:
        if isinstance(value, str):
            return value if isinstance(value, InitialRecipe) else _check_method(value)
        name = value.get("method") if isinstance(value, Mapping) else None
        if isinstance(name, str):
            _check_method(name)
        values = handler(value).model_dump()
        name = values.pop("method")
        kind = constructions[name].options
        options = kind.model_validate(values)
        return name if options == kind() else InitialRecipe(name, options)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = core_schema.plain_serializer_function_ser_schema(_initial_setting)
        return core_schema.no_info_wrap_validator_function(self._read, handler(source), serialization=plain)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"enum": _initial_methods()}, handler(schema)]}


def _initial_setting(initial: str) -> str | dict[str, Any]:
    return initial.setting if isinstance(initial, InitialRecipe) else initial


def options_with_recipes(method: Construction) -> type[Options]:
    """Return the option class of a method. ``initial`` of a top-down method also accepts an :class:`InitialRecipe`."""
    field = method.options.model_fields.get("initial")
    if field is None or not any(isinstance(annotation, _GivesInitial) for annotation in field.metadata):
        return method.options
    choice: Any = functools.reduce(operator.or_, map(_recipe_model, _initial_methods()))
    forms = Annotated[choice, Field(discriminator="method"), _NameOrRecipe()]
    default = ... if field.is_required() else field.get_default(call_default_factory=True)
    return create_model(method.options.__name__, __base__=method.options, initial=(forms, default))


def _recipe_model(name: str) -> type[Options]:
    method: Any = Literal[name]
    return create_model(f"{name}_initial", __base__=constructions[name].options, method=(method, ...))


def construction(
    name: str,
    *,
    segmentation: str,
    options: type[Options] | None = None,
    source: Source = "counts",
    alphabet: int = 256,
    initial: bool = False,
    gives_initial: bool = False,
    continuation: bool = False,
    languages: bool = False,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a construction. The arguments are the attributes of :class:`Construction`.

    Raises:
        TokbenchError: the name is invalid, the arguments contradict each other, or the function does not fit
            :class:`Build`.
    """
    constructions.check_name(name)

    def decorate(function: Function) -> Function:
        check = constructions.check
        # Each argument by itself, and together with the options.
        check(isinstance(segmentation, str), name, f"its segmentation is {segmentation!r}; give the name of one")
        check(source in get_args(Source), name, f"its source is {source!r}; choose among {', '.join(get_args(Source))}")
        is_whole = isinstance(alphabet, int) and not isinstance(alphabet, bool)
        check(is_whole, name, f"its alphabet is {alphabet!r}; give a whole number")
        check(alphabet >= 256, name, f"its alphabet is {alphabet!r}; every vocabulary has at least the 256 bytes")
        fields = getattr(options, "model_fields", {})
        sized = not initial or {"initial", "initial_size"} <= fields.keys()
        check(sized, name, "it starts from another vocabulary; give its options initial and initial_size")
        fit = not gives_initial or (source == "counts" and not initial)
        check(fit, name, "only a bottom-up method that reads counts can provide an initial vocabulary")
        is_plain = not gives_initial or not continuation
        check(is_plain, name, "its tokens have continuation forms, and an initial vocabulary contains each token once")
        check(not languages or source == "counts", name, "only a method that reads counts can read them by language")
        needed = [option for option, field in fields.items() if field.is_required()] if gives_initial else []
        message = f"an initial vocabulary is built with its options' defaults; give one to {listed(needed)}"
        check(not needed, name, message)
        method = Construction(
            name=name,
            function=function,
            options_class=options,
            segmentation=segmentation,
            source=source,
            alphabet=alphabet,
            initial=initial,
            gives_initial=gives_initial,
            continuation=continuation,
            languages=languages,
            cites=cites,
        )
        constructions.add(method, keywords={"initial"} if initial else ())
        return function

    return decorate
