"""Values as the command line takes them: options of methods, recipes, and the files that a recipe names, too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tokbench.byte_lm.options import PRESETS as BYTE_LM_PRESETS
from tokbench.byte_lm.options import ByteLmOptions, ByteNgramOptions
from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.inputs.yaml import parse_yaml
from tokbench.options import Options, Seed, validated
from tokbench.registry import Method

Chosen = TypeVar("Chosen", bound=Options)


class Seeded(Options):
    """What a corpus's recipe says beside the corpus."""

    seed: Seed
    """Decides the splits."""


def method_options(method: Method, settings: Sequence[str] | dict[str, Any], flag: str) -> Options:
    """The method's options from ``option=value`` strings (values are YAML) or from a mapping.

    Raises:
        TokbenchError: an unknown option or a value of the wrong type; the message names it.
    """
    values = dict(settings) if isinstance(settings, dict) else settings_of(settings, flag)
    named = values.pop("method", method.name)
    if named != method.name:
        raise TokbenchError(f"{flag}: names the method '{named}', and the command '{method.name}'; name one of them")
    return validated(values, method.options, f"{flag} ({method.name})")


def settings_of(settings: Sequence[str], flag: str) -> dict[str, Any]:
    """A mapping from ``option=value`` strings; values are YAML.

    Raises:
        TokbenchError: not of this form, no YAML, or an option twice.
    """
    values: dict[str, Any] = {}
    for key, value in (_setting(setting, flag) for setting in settings):
        if key in values:
            raise TokbenchError(f"{flag} {key}: stands twice; remove one")
        values[key] = value
    return values


def _setting(text: str, flag: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator:
        raise TokbenchError(f"{flag} {shortened(text)}: expected option=value")
    return key.strip(), parse_yaml(value, f"{flag} {key.strip()}")


def mapping_of(text: str, flag: str) -> dict[str, Any]:
    """A mapping from JSON or YAML in one argument."""
    value = parse_yaml(text, flag)
    if not isinstance(value, dict):
        raise TokbenchError(f"{flag}: expected a mapping, {{key: value}}, found '{shortened(text)}'")
    return value


def recipe_options(text: str, options: type[Chosen], presets: Mapping[str, Chosen]) -> Chosen:
    """Options from a preset's name or a JSON object.

    Raises:
        TokbenchError: neither; the message names the key.
    """
    value = parse_yaml(text, "--recipe")
    if isinstance(value, str):
        if value not in presets:
            raise TokbenchError(f"--recipe: {unknown(value, 'preset', presets)}")
        return presets[value]
    return validated(value, options, "--recipe")


def byte_lm_recipe(text: str) -> ByteLmOptions | ByteNgramOptions:
    """Options of a byte language model from a preset's name or a JSON object; its ``kind`` is neural if left out.

    Raises:
        TokbenchError: neither; the message names the key.
    """
    value = parse_yaml(text, "--recipe")
    ngram = isinstance(value, dict) and value.get("kind") == "ngram"
    kind: type[ByteLmOptions | ByteNgramOptions] = ByteNgramOptions if ngram else ByteLmOptions
    return recipe_options(text, kind, BYTE_LM_PRESETS)


def recipe(text: str, flag: str) -> tuple[str, dict[str, Any]]:
    """A method with options in one argument: ``name`` or the flow mapping ``{method: name, option: value}``."""
    value = parse_yaml(text, flag)
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and isinstance(value.get("method"), str):
        return value["method"], {key: given for key, given in value.items() if key != "method"}
    raise TokbenchError(f"{flag} {shortened(text)}: expected a method's name, or {{method: name, option: value}}")


def check_same_files(files: Sequence[str], named: Sequence[Path], flag: str) -> None:
    """Reject files that a recipe names otherwise than the command does.

    Raises:
        TokbenchError: the two are not the same files.
    """
    if {Path(file).resolve() for file in files} != {path.resolve() for path in named}:
        raise TokbenchError(f"{flag}: its path names other files than the command does; name them in one place")
