"""Stages that make tokenizers: construction, initial vocabularies, downloads and imports."""

import hashlib
from typing import TYPE_CHECKING, Any

from tokbench.adapters.forms import FORMS
from tokbench.adapters.forms.transformers import FORMS_OF_FILES
from tokbench.building import own_segmentation
from tokbench.building.files import LANGUAGES_READER, READERS
from tokbench.config.sections import Variant
from tokbench.config.targets import all_tokenizers
from tokbench.construction import Construction, InitialRecipe, constructions
from tokbench.options import canonical
from tokbench.pretokenization import pretokenization_of
from tokbench.resource import resource_types
from tokbench.segmentation import segmentations
from tokbench.stage import Result, Stage, stages
from tokbench.tokenizer.libraries import MODULES

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

BUILDER = "tokbench.building.files:build_from_files"


def initial_name(initial: str) -> str:
    """Return the name of an initial vocabulary in paths: its construction, with a digest of its options if any."""
    if not isinstance(initial, InitialRecipe):
        return initial
    return f"{initial}-{hashlib.sha256(canonical(initial.setting).encode()).hexdigest()[:12]}"


def initial_recipe(experiment: "Experiment", name: str) -> InitialRecipe:
    """Return the recipe of the initial vocabulary with a name in paths."""
    chosen = (getattr(variant.construction, "initial", None) for variant in experiment.built.values())
    recipes = (initial for initial in chosen if isinstance(initial, InitialRecipe))
    return next(recipe for recipe in recipes if initial_name(recipe) == name)


def default_segmentation(variant: Variant) -> dict[str, Any]:
    """Return the segmentation of a variant's construction, with all options."""
    method, shared = own_segmentation(constructions[variant.construction.method], variant.construction)
    return {"method": method, **segmentations[method].options(**shared).model_dump(mode="json")}


def _construction(construction: Construction) -> list[str]:
    """Return a construction and the readers of its inputs."""
    by_language = [LANGUAGES_READER] if construction.languages else []
    return [construction.definition, READERS[construction.source], *by_language]


def _build(experiment: "Experiment", wildcards: Any) -> list[str]:
    variant = experiment.built[wildcards.variant]
    construction = constructions[variant.construction.method]
    pretokenization = pretokenization_of(variant.pretokenization)
    phases = [
        segmentations[experiment.segmentation_of(wildcards.variant)].definition,
        *pretokenization.modules,
        *_readers(variant.construction),
    ]
    return [*_construction(construction), *phases]


def _readers(options: Any) -> list[str]:
    """Return the code that reads the existing tokenizer or the gold data in a construction's options, if any."""
    if (gold_type := getattr(options, "gold_type", None)) is not None:
        return [resource_types[gold_type].definition]
    if getattr(options, "tokenizer", None) is None:
        return []
    return [f"tokbench.adapters.forms.{name}" for name in sorted(FORMS)]


def _build_initial(experiment: "Experiment", wildcards: Any) -> list[str]:
    return _construction(constructions[wildcards.initial])


def _build_initial_recipe(experiment: "Experiment", wildcards: Any) -> list[str]:
    return _construction(constructions[initial_recipe(experiment, wildcards.initial_recipe)])


def _import(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the reader of an external tokenizer's form, and the libraries that it is compared with."""
    form = experiment.external[wildcards.variant].form
    libraries = [module for module in MODULES.values() if (module == "python") == (form == "python")]
    forms = sorted({form, *FORMS_OF_FILES}) if form == "transformers" else [form]
    return [
        *(f"tokbench.adapters.forms.{name}" for name in forms),
        *(f"tokbench.tokenizer.libraries.{module}" for module in libraries),
    ]


BUILD = stages.add(
    Stage(
        "build",
        run=BUILDER,
        results=(
            Result("tokenizer", "tokenizers/{variant}/{size}", all_tokenizers, "Folder of a tokenizer to compare"),
        ),
        methods=_build,
    )
)
BUILD_INITIAL = stages.add(Stage("build_initial", run=BUILDER, methods=_build_initial))
BUILD_INITIAL_RECIPE = stages.add(Stage("build_initial_recipe", run=BUILDER, methods=_build_initial_recipe))
FETCH_TOKENIZER = stages.add(Stage("fetch_tokenizer", run="tokbench.adapters.hub:fetch_files"))
IMPORT = stages.add(
    Stage("import", run="tokbench.adapters.imports:write_import", methods=_import, libraries=("tokenizers",))
)
