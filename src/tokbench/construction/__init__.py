"""Vocabulary construction: one module per method, which chooses the tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
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


@dataclass(frozen=True, kw_only=True)
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
