"""SentencePiece's ``.model``: BPE with byte fallback in Tokbench's three phases, any other through its own library."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.adapters.forms.character_bpe import BLANK, CharacterTokens, cut_between
from tokbench.adapters.forms.files import named_file, read_bounded
from tokbench.adapters.forms.folder_classes import BY_NAME, CHANGES, SENTENCEPIECE, ids_by_name, runs_of
from tokbench.adapters.forms.folder_settings import FolderSettings, special_to_add
from tokbench.adapters.forms.parsed import End, NativeTokenizer, ParsedTokenizer, ReadOptions, marks_told
from tokbench.errors import TokbenchError, shortened
from tokbench.io.compression import plain_name
from tokbench.io.contents import REMEDY
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.io.text_files import first_line
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer.libraries import library_errors
from tokbench.tokenizer.libraries.charsmaps import check_charsmap

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODELS = {1: "unigram", 2: "BPE", 3: "words", 4: "characters"}


def model_class(place: str) -> Any:
    """Return the class ``ModelProto`` of the package ``sentencepiece``.

    Args:
        place: beginning of messages.

    Raises:
        TokbenchError: that package or ``protobuf`` is missing, or ``protobuf`` is older than the class needs.
    """
    try:
        from sentencepiece import sentencepiece_model_pb2
    except Exception as error:
        if may_be_short(error):
            raise
        raise TokbenchError(
            f"{place}: needs the packages 'sentencepiece' and 'protobuf' ({shortened(first_line(error), 200)}); "
            "pip install 'tokbench[existing]'"
        ) from None
    return sentencepiece_model_pb2.ModelProto  # type: ignore[attr-defined,unused-ignore]


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse a model; control tokens in a text are plain text, user-defined symbols are tokens.

    Raises:
        TokbenchError: the file is damaged, or a package is missing.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: a SentencePiece model defines its segmentation; leave --pattern out")
    content = read_bounded(path)
    model = model_class(str(path))()
    with library_errors(f"{path}: not a model of SentencePiece"):
        model.ParseFromString(content)
        names = _checked(model)
    kinds = [piece.type for piece in model.pieces]
    special = {number: names[number] for number, kind in enumerate(kinds) if kind in (CONTROL, UNUSED)}
    tokens = sum(kind in (NORMAL, USER_DEFINED, BYTE) for kind in kinds)
    user_defined = [number for number, kind in enumerate(kinds) if kind == USER_DEFINED]
    symbols: dict[int, bytes] = {}
    for number in user_defined:
        name = names[number]
        if options.added == "text":
            model.pieces[number].type = CONTROL
            special[number] = name
            tokens -= 1
        else:
            symbols[number] = name
    if len(symbols) < len(user_defined):
        content = model.SerializeToString()
    sentences = [marks_told(len(special), "control")] if special else []
    sentences += [f"{len(symbols):,} symbols of the user's are cut out of texts first"] if symbols else []
    end = model.trainer_spec.eos_piece
    own = [End(end, "eos_piece of the model")] if end.encode() in special.values() else []
    ids, more, source = _piece_ids(path, names, kinds, settings)
    without = sum(number == ids[kinds.index(UNKNOWN)] for number in ids) - 1 if UNKNOWN in kinds else 0
    if source:
        sentences.append(f"ids are those of {source}")
        special = {ids[place]: name for place, name in special.items()} | more
        symbols = {ids[place]: name for place, name in symbols.items()}
        names = {ids[place]: name for place, name in reversed(names.items())} | special
    if changes := CHANGES.get(settings.kind):
        sentences.append(f"the class '{settings.named}' changes {changes} first, which this library does not")
    added, notes = special_to_add(settings, names, options.added, str(path))
    sentences += [f"{len(added):,} added tokens are from {settings.source}"] if added else []
    special |= added
    native, reason = None, ""
    try:
        if source:
            raise NotNativeError(f"its ids are those of {source}")
        native = native_model(model, symbols, special, options.segmentation)
    except NotNativeError as error:
        reason = f"SentencePiece ({MODELS[model.trainer_spec.model_type]}): {error}"
    if native is not None:
        tokens = len(native.vocabulary)
        notes = [*notes, *(NORMALISED[step] for step in native.normalization)]
    return ParsedTokenizer(
        native,
        reason=reason,
        library="sentencepiece",
        content=content,
        settings={"runs": runs_of(ids)} if source else {},
        special=special,
        added=symbols,
        ordinary={*(ids[number] for number in user_defined), *settings.ordinary},
        ends=[*settings.ends, *own],
        tokens=tokens - without,
        ids=max([*ids, *special]) + 1,
        told=[*sentences, *notes],
    )


NORMALISED = {
    "metaspace": "U+2581 in a text becomes a space, as in its library",
    "space": "a space is added before every text, and removed by decoding",
}
"""Notes on steps of normalization."""


def native_model(
    model: Any, symbols: Mapping[int, bytes], special: Mapping[int, bytes], segmentation: str | None
) -> NativeTokenizer:
    """Return a model in Tokbench's three phases.

    Args:
        model: the model.
        symbols: user-defined symbols, with their ids.
        special: ids that encoding never returns, with their names.
        segmentation: method instead of the model's.

    Raises:
        NotNativeError: they are not equivalent; the message is the reason.
    """
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    if MODELS[trainer.model_type] != "BPE":
        raise NotNativeError("its segmentation is none of ours")
    if normalizer.precompiled_charsmap:
        raise NotNativeError(f"it normalises texts ({normalizer.name or 'a table of its own'})")
    if normalizer.remove_extra_whitespaces:
        raise NotNativeError("it removes spaces (remove_extra_whitespaces)")
    if not normalizer.escape_whitespaces or trainer.treat_whitespace_as_suffix:
        raise NotNativeError("it spells a space otherwise than before a word by U+2581")
    if not trainer.byte_fallback:
        raise NotNativeError("a character that is no token is the unknown token, as it has no byte fallback")
    kinds = {number: piece.type for number, piece in enumerate(model.pieces)}
    if unused := [number for number, kind in kinds.items() if kind == UNUSED]:
        raise NotNativeError(f"{len(unused):,} pieces are unused, so merges that make them are undone")
    if wrong := next((one for one in symbols.values() if b" " in one), None):
        raise NotNativeError(f"the symbol '{shortened(wrong.decode())}' has a space, which is spelled otherwise")
    kept = {content.decode().replace(BLANK, " ").encode(): number for number, content in symbols.items()}
    pieces = {number: model.pieces[number].piece for number, kind in kinds.items() if kind == NORMAL}
    byte_ids = {int(model.pieces[one].piece[3:-1], 16): one for one, kind in kinds.items() if kind == BYTE}
    tokens = CharacterTokens(pieces, byte_ids, True, kept)
    longer = [token for token in tokens.ids if len(token.decode("utf-8", "replace")) > 1 and token not in kept]
    known = tokens.ids.keys()
    characters = {sign for token in longer for sign in token.decode() if not sign.isascii()}
    if lacking := next((sign for sign in sorted(characters) if sign.encode() not in known), None):
        raise NotNativeError(f"a piece has the character U+{ord(lacking):04X}, which is no piece")
    setting = cut_between(longer, kept)
    of_piece = {number: model.pieces[number].score for number in pieces}
    made = tokens.vocabulary(special, kept)
    scores = np.array([of_piece.get(number, -math.inf) for number in (made.ids if made.ids is not None else ())])
    vocabulary = tokens.vocabulary(special, kept, scores=scores)
    steps = ("metaspace", "space") if normalizer.add_dummy_prefix else ("metaspace",)
    return NativeTokenizer(vocabulary, setting, segmentation or "merge_scores", normalization=steps)


def _piece_ids(
    path: Path, names: Mapping[int, bytes], kinds: Sequence[int], settings: FolderSettings
) -> tuple[list[int], dict[int, bytes], str]:
    """Return the id of each piece, special tokens of the class, and the source of the ids, empty if they are places."""
    spelt = [name.decode() for name in names.values()]
    known = SENTENCEPIECE.get(settings.kind)
    if known is not None and len(names) > known.first and UNKNOWN in kinds:
        special = dict(known.special)
        if known.last:
            special[len(names) + known.offset] = known.last
        return known.ids(len(names)), {one: name.encode() for one, name in special.items()}, f"'{settings.named}'"
    if settings.kind in BY_NAME and UNKNOWN in kinds:
        several = plain_name(path.name) == "target.spm" and settings.options.get("separate_vocabs") is True
        file = named_file(path.parent, "target_vocab.json" if several else "vocab.json")
        if file is None:
            raise TokbenchError(
                f"{path}: its class '{settings.named}' has the ids in vocab.json, which is missing here"
            )
        values = parse_json(read_bounded(file), str(file), remedy=REMEDY)
        ids = ids_by_name(spelt, values, kinds.index(UNKNOWN), str(file))
        taken = set(ids)
        special = {number: name for name, number in values.items() if number not in taken}
        return ids, {one: name.encode() for one, name in special.items()}, file.name
    return [*range(len(names))], {}, ""


def _checked(model: Any) -> dict[int, bytes]:
    """Return the pieces of a model by id.

    Raises:
        ValueError: a piece, a score, the end of text or a normalization table is damaged.
    """
    if not 0 < len(model.pieces) <= LARGEST_VOCABULARY:
        raise ValueError(f"{len(model.pieces)} pieces")
    names = {number: _utf8(piece.piece) for number, piece in enumerate(model.pieces)}
    if not all(names.values()):
        raise ValueError("a piece that is empty")
    if not all(math.isfinite(piece.score) for piece in model.pieces):
        raise ValueError("a score that is no number")
    _utf8(model.trainer_spec.eos_piece)
    for normalizer in (model.normalizer_spec, model.denormalizer_spec):
        check_charsmap(normalizer.precompiled_charsmap)
    return names


def _utf8(text: str | bytes) -> bytes:
    """Return a text in UTF-8; the library returns bytes for text that is not UTF-8."""
    return text.encode() if isinstance(text, str) else text.decode().encode()
