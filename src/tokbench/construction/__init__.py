"""Vocabulary construction: one module per method, which chooses the tokens."""

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


class Build(Protocol):
    """How a construction is called."""

    def __call__(
        self, source: Any, size: int, options: Any, *, seed: int, threads: int, initial: Vocabulary = ...
    ) -> Vocabulary:
        """Choose the tokens.

        Args:
            source: :class:`~tokbench.pretokens.PretokenCounts`; for a method whose source is ``"scores"`` the scored
                documents of a byte language model (:class:`~tokbench.candidates.scored_text.ScoredDocuments`); for one
                whose source is ``"documents"`` running text (:class:`~tokbench.candidates.running_text.Documents`).
            size: tokens wanted, the 256 bytes included; fewer are returned where the text yields no more.
            options: an instance of the method's class of options.
            seed: of everything that is drawn at random.
            threads: threads to use; they do not change the result.
            initial: the vocabulary to start from, given to methods that start from one and to no others.
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Construction(Method):
    """A method that chooses the tokens.

    Attributes:
        segmentation: name of the segmentation that its vocabularies have unless another is chosen.
        source: what it reads.
        alphabet: the smallest size that it can build.
        initial: whether it starts from an initial vocabulary (a top-down method); its options then say which, by
            ``initial`` and ``initial_size``.
        gives_initial: whether top-down methods may start from its vocabularies.
        continuation: whether it tells tokens at the start of a pre-token from those inside.
    """

    function: Build
    segmentation: str
    source: Source = "counts"
    alphabet: int = 256
    initial: bool = False
    gives_initial: bool = False
    continuation: bool = False

    def own_segmentation(self) -> Segmentation:
        """The segmentation that it names, which may be another distribution's and register after it.

        Raises:
            TokbenchError: there is none of that name; the message is for the author of the method.
        """
        found = segmentations.find(self.segmentation)
        if found is None:
            named = unknown(self.segmentation, segmentations.kind, segmentations)
            raise TokbenchError(f"{constructions.kind} '{self.name}': its segmentation {named}")
        return found


constructions: Registry[Construction] = Registry("construction", "tokbench.construction", Build)


class _GivesInitial:
    """Names of constructions that give initial vocabularies, for validation and the JSON schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": _giving()}


def _giving() -> list[str]:
    return [method.name for method in constructions.methods() if method.gives_initial]


def _checked(name: str) -> str:
    try:
        gives = constructions[name].gives_initial
    except TokbenchError:
        gives = False
    if not gives:
        raise ValueError(unknown(name, "initial vocabulary", _giving()))
    return name


InitialName = Annotated[str, _GivesInitial()]
"""A construction to start from; "Tokenization Is More Than Compression", section 3.2, has ngram, bpe and unigram."""


class InitialRecipe(str):
    """A construction to start from with options of its own; as text, and in comparisons, the construction's name.

    Methods read ``options.initial`` as a name, with or without such options.

    Attributes:
        options: an instance of the construction's class of options.
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
        """``method`` and all options, as JSON holds them."""
        return {"method": str(self), **self.options.model_dump(mode="json")}


class _NameOrRecipe:
    """A name, or a mapping with ``method`` and options; one whose options are all defaults is the name."""

    def _read(self, value: Any, handler: Callable[[Any], Options]) -> str:
        if isinstance(value, str):
            return value if isinstance(value, InitialRecipe) else _checked(value)
        name = value.get("method") if isinstance(value, Mapping) else None
        if isinstance(name, str):
            _checked(name)
        values = handler(value).model_dump()
        name = values.pop("method")
        kind = constructions[name].options
        options = kind.model_validate(values)
        return name if options == kind() else InitialRecipe(name, options)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain = core_schema.plain_serializer_function_ser_schema(_initial_setting)
        return core_schema.no_info_wrap_validator_function(self._read, handler(source), serialization=plain)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"enum": _giving()}, handler(schema)]}


def _initial_setting(initial: str) -> str | dict[str, Any]:
    return initial.setting if isinstance(initial, InitialRecipe) else initial


def options_with_recipes(method: Construction) -> type[Options]:
    """The class of a method's options; the ``initial`` of a top-down method may also be a recipe, see
    :class:`InitialRecipe`."""
    field = method.options.model_fields.get("initial")
    if field is None or not any(isinstance(one, _GivesInitial) for one in field.metadata):
        return method.options
    choice: Any = functools.reduce(operator.or_, map(_recipe_model, _giving()))
    forms = Annotated[choice, Field(discriminator="method"), _NameOrRecipe()]
    default = ... if field.is_required() else field.get_default(call_default_factory=True)
    return create_model(method.options.__name__, __base__=method.options, initial=(forms, default))


def _recipe_model(name: str) -> type[Options]:
    method: Any = Literal[name]
    return create_model(f"{name}_initial", __base__=constructions[name].options, method=(method, ...))


Function = TypeVar("Function", bound=Callable[..., Vocabulary])


def construction(
    name: str,
    *,
    segmentation: str,
    options: type[Options] = Options,
    source: Source = "counts",
    alphabet: int = 256,
    initial: bool = False,
    gives_initial: bool = False,
    continuation: bool = False,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a construction; the arguments are the attributes of :class:`Construction`.

    Raises:
        TokbenchError: the name is none, they do not fit each other, or the function does not fit :class:`Build`.
    """
    constructions.check_name(name)

    def decorate(function: Function) -> Function:
        check = constructions.check
        check(isinstance(segmentation, str), name, f"its segmentation is {segmentation!r}; give the name of one")
        check(source in get_args(Source), name, f"its source is {source!r}; choose among {', '.join(get_args(Source))}")
        whole = isinstance(alphabet, int) and not isinstance(alphabet, bool)
        check(whole, name, f"its alphabet is {alphabet!r}; give a whole number")
        check(alphabet >= 256, name, f"its alphabet is {alphabet!r}; the 256 bytes are the least")
        given = getattr(options, "model_fields", {})
        sized = not initial or {"initial", "initial_size"} <= given.keys()
        check(sized, name, "it starts from another vocabulary; give its options initial and initial_size")
        fit = not gives_initial or (source == "counts" and not initial)
        check(fit, name, "only a method that reads counts alone can give an initial vocabulary")
        spelt = not gives_initial or not continuation
        check(spelt, name, "its tokens have continuation forms, and an initial vocabulary holds each token once")
        needed = [option for option, field in given.items() if field.is_required()] if gives_initial else []
        told = f"an initial vocabulary is built with its options' defaults; give one to {listed(needed)}"
        check(not needed, name, told)
        method = Construction(
            name=name,
            function=function,
            options=options,
            segmentation=segmentation,
            source=source,
            alphabet=alphabet,
            initial=initial,
            gives_initial=gives_initial,
            continuation=continuation,
            cites=cites,
        )
        constructions.add(method, keywords={"initial"} if initial else ())
        return function

    return decorate
