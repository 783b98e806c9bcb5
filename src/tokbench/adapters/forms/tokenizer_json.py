"""``tokenizer.json`` of Hugging Face's ``tokenizers``, in Tokbench's three phases if its model works on bytes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.forms.added_tokens import AddedTokenSettings, Model, added_entries, added_tokens
from tokbench.adapters.forms.character_bpe import NORMALIZERS, native_characters, pairs_of, reachable, reject_marks
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings, tokens_to_add
from tokbench.adapters.forms.kept_tokens import containing, kept_tokens, with_added_tokens
from tokbench.adapters.forms.parsed import NativeTokenizer, ParsedTokenizer, ReadOptions, other_ids, special_note
from tokbench.adapters.forms.patterns import native_setting
from tokbench.errors import TokbenchError
from tokbench.io.contents import REMEDY
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.pretokenization import pretokenization_of, schemes
from tokbench.pretokenization.patterns.coverage import left_out
from tokbench.pretokenization.patterns.dialects import ONIGURUMA, NotNativeError, TranslatedPattern, translate
from tokbench.pretokenization.patterns.parse import Characters, parse
from tokbench.tokenizer.hugging_face import BYTE_OF, spelled_bytes
from tokbench.tokenizer.libraries import open_library
from tokbench.tokenizer.libraries.charsmaps import check_charsmaps
from tokbench.vocabulary import Vocabulary

LONGEST_WORD = 1 << 28
"""Characters above which WordPiece's longest word is no limit."""
NORMALISED = {
    "nfc": "texts are normalised (NFC of Unicode 9.0, as in tokenizers), so texts in another form are not restored",
    "nfc_between": "texts between added tokens are normalised (NFC of Unicode 9.0), so texts in another form are not "
    "restored",
    "metaspace": "U+2581 in a text becomes a space, as in its library",
    "space": "a space is added before every text, and removed by decoding",
    "missing_space": "a space is added before every text that does not begin with one, and removed by decoding",
}
"""Notes on steps of normalization."""
ASCII_SIGNS = r"!-/:-@\[-`{-~"


def native_model(values: Mapping[str, Any], added: AddedTokenSettings, segmentation: str | None) -> NativeTokenizer:
    """Return a tokenizer in Tokbench's three phases that returns the same ids.

    Args:
        values: content of the file, with added tokens as in ``added``.
        added: its added tokens.
        segmentation: method instead of the file's.

    Raises:
        NotNativeError: there is none; the message is the reason.
    """
    normalizer = values.get("normalizer")
    normalizers = [] if normalizer is None else _steps(normalizer, "normalizers")
    steps = [part_of["type"] for part_of in normalizers]
    # Models and normalisation that our three phases have.
    model = values["model"]
    kind = model.get("type") or ("BPE" if "merges" in model else None)
    if kind == "BPE" and model.get("byte_fallback"):
        return native_characters(values, added, normalizers, segmentation)
    if set(steps) - {"NFC"}:
        raise NotNativeError(NORMALIZERS.format(", ".join(steps)))
    if kind not in MODELS:
        raise NotNativeError(f"its model, {kind or 'of no name'}, is none of ours")
    if added.kept and kind != "BPE":
        raise NotNativeError(f"{len(added.kept):,} added tokens are cut out of a text before it is cut into pre-tokens")
    # Pre-tokenization with added tokens, then the vocabulary.
    translations = _translations(values.get("pre_tokenizer"))
    kept, between = kept_tokens(values["added_tokens"], added, bool(steps))
    setting = with_added_tokens(native_setting(translations), kept)
    marks = _cut(model, {*added.special, model.get("unk_id")}, setting)
    if kind == "BPE":
        vocabulary, method = _merging(model, added, marks, kept, every=segmentation is not None)
    else:
        vocabulary, method = MODELS[kind](model, added, marks)
    return NativeTokenizer(
        vocabulary,
        setting,
        segmentation or method,
        {part: ranges for part_of in translations for part, ranges in part_of.sets.items()},
        {step: ranges for part_of in translations for step, ranges in part_of.steps.items()},
        () if not steps else ("nfc_between",) if between else ("nfc",),
    )


def _translations(value: Mapping[str, Any] | None) -> list[TranslatedPattern]:
    """Return the patterns equivalent to a ``pre_tokenizer``, each applied to the pieces of the one before.

    Raises:
        NotNativeError: it does not work on bytes, or changes texts.
    """
    steps = [] if value is None else _steps(value, "pretokenizers")
    if not steps or steps[-1]["type"] != "ByteLevel":
        raise NotNativeError("it does not work on bytes")
    if any(step.get("add_prefix_space") for step in steps):
        raise NotNativeError("it puts a space before every text")
    translations = [_translation(step) for step in steps[:-1]]
    if steps[-1].get("use_regex", True):
        translations.append(translate(str(schemes["gpt2"].pattern), ONIGURUMA))
    return translations


def _steps(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the steps of a sequence, with nested sequences flattened, or the single step."""
    if value["type"] != "Sequence":
        return [value]
    return [inner for step in value[key] for inner in _steps(step, key)]


def _translation(step: Mapping[str, Any]) -> TranslatedPattern:
    """Return the pattern of a step; its matches and the text between them are pieces."""
    kind = step["type"]
    if kind == "Digits":
        return _of_step(r"\p{N}", kind, repeated=not step["individual_digits"])
    if kind not in ("Split", "Punctuation"):
        raise NotNativeError(f"it cuts by {kind}")
    if kind == "Punctuation":
        if step["behavior"] != "Isolated":
            raise NotNativeError(f"it cuts by {kind} with the behaviour {step['behavior']}")
        return _of_step(rf"[\p{{P}}{ASCII_SIGNS}]", kind)
    import regex

    [(form, text)] = step["pattern"].items()
    pattern = regex.escape(text, special_only=True) if form == "String" else text
    return _split(translate(pattern, ONIGURUMA), step["behavior"], inverted=bool(step.get("invert")))


def _split(pattern: TranslatedPattern, behaviour: str, *, inverted: bool) -> TranslatedPattern:
    """Return a pattern whose matches, and the text between them, are the pieces of a ``Split``.

    Raises:
        NotNativeError: the step removes text, or it merges matches that may have several characters.
    """
    if behaviour == "Isolated":
        return pattern
    if behaviour == "Removed":
        if not inverted:
            raise NotNativeError(f"it cuts by Split with the behaviour {behaviour}, which drops the matches")
        if (outside := left_out(pattern.pattern)) is not None:
            raise NotNativeError(
                "its pattern may leave out characters, which Split with the behaviour Removed drops "
                f"(U+{ord(outside):04X}, for one)"
            )
        return pattern
    if not isinstance(parse(pattern.pattern), Characters):
        raise NotNativeError(f"it cuts by Split with the behaviour {behaviour}, by more than one character")
    # The other behaviours join a match with the text before it, after it, or both.
    within = f"(?:{pattern.pattern})"
    between = rf"(?:(?!{pattern.pattern})[\s\S])+"
    merged = {
        ("Contiguous", False): f"{within}+|{between}",
        ("Contiguous", True): f"{within}+|{between}",
        ("MergedWithPrevious", False): f"{between}{within}?|{within}",
        ("MergedWithPrevious", True): f"{within}(?:{between})?|{between}",
        ("MergedWithNext", False): f"{within}?{between}|{within}",
        ("MergedWithNext", True): f"(?:{between})?{within}|{between}",
    }
    if (behaviour, inverted) not in merged:
        raise NotNativeError(f"it cuts by Split with the behaviour {behaviour}")
    return TranslatedPattern(merged[behaviour, inverted], pattern.sets)


def _of_step(part: str, kind: str, *, repeated: bool = False) -> TranslatedPattern:
    [ranges] = translate(part, ONIGURUMA).sets.values()
    return TranslatedPattern(f"{part}+" if repeated else part, steps={kind: ranges})


def _cut(model: Mapping[str, Any], marks: set[int | None], setting: str | Mapping[str, Any]) -> set[int]:
    """Return the ids of marks that pre-tokenization splits: encoding never returns them, though the model has them."""
    vocabulary, scheme = model["vocab"], pretokenization_of(setting)
    if isinstance(vocabulary, list):
        vocabulary = {spelt: number for number, (spelt, _) in enumerate(vocabulary)}
    tokens = {number: spelled_bytes(spelt) or b"" for spelt, number in vocabulary.items() if number in marks}
    return {number for number, token in tokens.items() if len(scheme.boundaries(token)) > 2}


def _merging(
    model: Mapping[str, Any], added: AddedTokenSettings, cut: set[int], kept: Mapping[bytes, int], *, every: bool
) -> tuple[Vocabulary, str]:
    """Return the vocabulary of a BPE model; with ``every``, tokens that no merge makes are not unused."""
    reject_marks(model)
    whole = bool(model.get("ignore_merges"))
    ids: dict[str, int] = model["vocab"]
    pairs = pairs_of(model)
    known = {spelt: spelled_bytes(spelt) for spelt in ids}
    # No merge makes a token that contains an added token, as pre-tokenization isolates added tokens.
    contains = containing(kept)
    isolated = {spelt for spelt, token in known.items() if token and contains(token)} if kept else set()
    unused = {spelt for spelt in isolated if kept.get(known[spelt] or b"") != ids[spelt]}
    merges = [(left, right, left + right) for left, right in pairs]
    merges = [merge for merge in merges if merge[2] not in isolated]
    # Tokens that cannot be made from bytes are not used, nor are merges of them.
    if not whole and not every:
        made = reachable(merges, (spelt for spelt, token in known.items() if token and len(token) == 1))
        merges = [merge for merge in merges if made.issuperset(merge)]
        unused |= known.keys() - made
    # A special token is used only if merges need it.
    parts = {part for merge in merges for part in merge}
    marks = cut if whole else added.special
    unused |= {spelt for spelt, number in ids.items() if number in marks and spelt not in parts}
    tokens, own, others = _spelt(known, ids, unused, added, kept)
    places = {token: place for place, token in enumerate(tokens)}
    of = {spelt: places[token] for spelt in parts if (token := known[spelt]) is not None}
    rows = np.array([[of[part] for part in merge] for merge in merges], np.int32).reshape(-1, 3)
    flags = np.array([token in kept for token in tokens], np.bool_) if kept else None
    return _vocabulary(tokens, own, others, merges=rows, added=flags), "whole_or_merge" if whole else "merge"


def _likelihood(model: Mapping[str, Any], added: AddedTokenSettings, cut: set[int]) -> tuple[Vocabulary, str]:
    ids = {spelt: number for number, (spelt, _) in enumerate(model["vocab"])}
    if len(ids) < len(model["vocab"]):
        raise NotNativeError("some of its tokens stand twice")
    known = {spelt: spelled_bytes(spelt) for spelt in ids}
    tokens, own, others = _spelt(known, ids, {spelt for spelt, number in ids.items() if number in cut}, added)
    if model.get("unk_id") in own:
        raise NotNativeError("its unknown token spells bytes, and is one token where it stands more than once")
    from tokbench.tokenizer.libraries.hugging_face import scores_as_read

    try:
        scores = np.array(scores_as_read(model), np.float64)
    except Exception as error:  # The library raises no subclass.
        raise NotNativeError(f"its library does not read its model ({error})") from None
    return _vocabulary(tokens, own, others, scores=scores[own]), "likelihood"


def _longest_prefix(model: Mapping[str, Any], added: AddedTokenSettings, cut: set[int]) -> tuple[Vocabulary, str]:
    prefix = model.get("continuing_subword_prefix", "##")
    if model.get("max_input_chars_per_word", 100) < LONGEST_WORD:
        raise NotNativeError("words longer than a bound are one unknown token")
    if prefix and all(character in BYTE_OF for character in prefix):
        raise NotNativeError(f"its mark of continuation, {prefix}, spells bytes too")
    ids: dict[str, int] = model["vocab"]
    inside = {spelt for spelt in ids if prefix and spelt.startswith(prefix)}
    parts = [(spelt.removeprefix(prefix) if spelt in inside else spelt, spelt in inside) for spelt in ids]
    known = [
        (token, flag, number)
        for (spelt, flag), number in zip(parts, ids.values(), strict=True)
        if number not in cut and (token := spelled_bytes(spelt))
    ]
    known.sort(key=lambda row: row[2])
    for flag in {False, bool(prefix)}:
        _check_bytes({token for token, inner, _ in known if inner == flag})
    own = [number for _, _, number in known]
    flags = np.array([flag for _, flag, _ in known], np.bool_) if prefix else None
    others = other_ids(own, added.special, {number: spelt.encode() for spelt, number in ids.items()})
    vocabulary = _vocabulary([token for token, _, _ in known], own, others, continuation=flags)
    return vocabulary, "longest_prefix" if prefix else "greedy"


MODELS: dict[str, Any] = {"BPE": _merging, "Unigram": _likelihood, "WordPiece": _longest_prefix}


def _spelt(
    known: Mapping[str, bytes | None],
    ids: Mapping[str, int],
    left_out: set[str],
    added: AddedTokenSettings,
    kept: Mapping[bytes, int] | None = None,
) -> tuple[list[bytes], list[int], dict[str, Any]]:
    """Return tokens by id, their ids, and the ids that encoding never returns, see :func:`other_ids`."""
    if len(set(ids.values())) < len(ids):
        raise NotNativeError("some of its tokens have one id")
    tokens = {number: token for spelt, number in ids.items() if spelt not in left_out and (token := known[spelt])}
    tokens |= {number: token for token, number in (kept or {}).items()}
    own = sorted(tokens)
    _check_bytes(set(tokens.values()))
    unused = {number: known[spelt] or spelt.encode() for spelt, number in ids.items()}
    return [tokens[number] for number in own], own, other_ids(own, added.special, unused)


def _check_bytes(tokens: set[bytes]) -> None:
    missing = [value for value in range(256) if bytes([value]) not in tokens]
    if missing:
        raise NotNativeError(f"{len(missing)} of the 256 bytes are no tokens (first: {missing[0]:02x})")


def _vocabulary(tokens: Sequence[bytes], own: Sequence[int], others: Mapping[str, Any], **more: Any) -> Vocabulary:
    ids: NDArray[np.int32] = np.array(own, np.int32)
    return Vocabulary(tuple(tokens), ids=ids, **others, **more)


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a file of that library; native if it works on bytes and does not change texts.

    Truncation, padding and dropout are disabled.

    Raises:
        TokbenchError: the file is not a JSON object with a model.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: its pattern is in the file; leave --pattern out")
    values = parse_json(read_bounded(path), str(path), remedy=REMEDY)
    return parse_values(values, str(path), options, settings)


def parse_values(values: Any, place: str, options: ReadOptions, folder: FolderSettings) -> ParsedTokenizer:
    """Parse the content of such a file, with the settings of its folder."""
    # Settings that change no id of a text are off: truncation, padding and dropout.
    try:
        model = values["model"]
        own = values.get("added_tokens") or []
        more = tokens_to_add(folder, {entry["content"] for entry in own})
        entries = added_entries([*own, *more], options.added)
        dropout, model["dropout"] = model.get("dropout"), None
        values |= {"added_tokens": entries, "truncation": None, "padding": None}
        ids = _ids(model)
        check_charsmaps(values.get("normalizer"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TokbenchError(f"{place}: not a tokenizer.json ({type(error).__name__}: {error}); {REMEDY}") from None
    # The library opens the file and says the ids of added tokens.
    unknown = _unknown(model, ids)
    content = json.dumps(values, ensure_ascii=False).encode()
    settings = {"special": options.added == "tokens", "unknown": unknown}
    opened = open_library("tokenizers", content, settings, place)
    added = added_tokens(entries, options.added, opened, Model(ids, unknown, bool(model.get("byte_fallback"))))
    limit = max([*ids.values(), *added.special, *added.kept], default=-1) + 1
    taken = {number for number in ids.values() if number in added.special or number == unknown}
    parsed = ParsedTokenizer(
        None,
        library="tokenizers",
        content=content,
        settings=settings,
        opened=opened,
        special=added.special,
        added={**added.kept, **added.given},
        ordinary=[opened.id_of(entry["content"]) for entry in [*own, *more] if not entry.get("special")],
        ends=folder.ends,
        tokens=len({*ids.values(), *added.kept} - taken),
        ids=limit,
        notes=[*_notes_on_added(added), *_added_note(folder, len(more)), *(["dropout is off"] if dropout else [])],
    )
    # The tokenizer in our three phases, if they are equivalent.
    try:
        native = native_model(values, added, options.segmentation)
    except NotNativeError as error:
        return replace(parsed, reason=str(error))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return replace(parsed, reason="parts of it are of a form that is not known here")
    lines = [*parsed.notes, *(NORMALISED[step] for step in native.normalization)]
    return replace(parsed, native=native, tokens=len(native.vocabulary), notes=lines)


def _ids(model: dict[str, Any]) -> dict[str, int]:
    """Return the strings of a model with their ids."""
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):
        vocabulary = {spelt: number for number, (spelt, _) in enumerate(vocabulary)}
    for spelt, number in vocabulary.items():
        if not isinstance(spelt, str) or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise ValueError(f"{spelt!r:.40} has the id {number!r:.20}")
    ids: dict[str, int] = vocabulary
    return ids


def _unknown(model: dict[str, Any], ids: dict[str, int]) -> int | None:
    """Return the id of the unknown token: Unigram names it by number, the other models by token."""
    number, token = model.get("unk_id"), model.get("unk_token")
    return number if type(number) is int else ids.get(token) if isinstance(token, str) else None


def _added_note(folder: FolderSettings, number: int) -> list[str]:
    return [f"{number:,} added tokens are from {folder.source}"] if number else []


def _notes_on_added(added: AddedTokenSettings) -> list[str]:
    lines = []
    if added.special:
        lines.append(special_note(len(added.special), "special"))
    if added.kept:
        lines.append(f"{len(added.kept):,} added tokens are cut out of texts first")
    return [*lines, *added.notes]
