"""Exports of tokenizers to other libraries, and the pre-tokens on which ids are compared."""

from collections.abc import Callable, Collection
from pathlib import Path

from tokbench.adapters.names import ids_of
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import FAST, write_configuration
from tokbench.vocabulary import write_tokens

TOKENS = "tokens.vocab"


Characters = Collection[str] | None


def export(
    tokenizer: Tokenizer, form: str, counts: PretokenCounts | None, folder: Path, characters: Characters = None
) -> str:
    """Write a tokenizer for another library into a folder, if ids are equal on the pre-tokens.

    Args:
        tokenizer: tokenizer to export.
        form: one of :data:`FORMS`.
        counts: pre-tokens to compare ids on; None for :func:`pretokens_to_compare`.
        folder: output folder.
        characters: characters that the exported form has to support, for a form with a table of characters; these
            include all of ``counts`` (default: None, all).

    Returns:
        One sentence about the comparison.

    Raises:
        TokbenchError: the library cannot express the tokenizer (the message has the reason), or is not installed.
    """
    _require_ours(tokenizer)
    try:
        if form == "tokens":
            return _tokens(tokenizer, folder)
        if tokenizer.segments_documents:
            from tokbench.adapters.export_hugging_face import joins_pretokens

            raise TokbenchError(f"{joins_pretokens(tokenizer)}; nothing is written")
        compared = pretokens_to_compare(tokenizer) if counts is None else counts
        return COMPARED[form](tokenizer, compared, folder, characters)
    except ModuleNotFoundError as error:
        raise TokbenchError(
            f"--to {form}: the package '{error.name}' is not installed; install tokbench[existing]"
        ) from None


def pretokens_to_compare(tokenizer: Tokenizer) -> PretokenCounts:
    """Return the pre-tokens of CPython's documentation and of the tokens themselves, counted.

    Raises:
        TokbenchError: the tokenizer runs through another library and needs no export.
    """
    _require_ours(tokenizer)
    from tokbench.corpus.embedded import embedded_texts

    return count_pretokens([*embedded_texts(), *tokenizer.vocabulary.tokens], tokenizer.pretokenization)


def _require_ours(tokenizer: Tokenizer) -> None:
    if tokenizer.library_name:
        raise TokbenchError(
            f"{tokenizer.name or 'the tokenizer'} works through {tokenizer.library_name}, which needs no export; "
            "use the file that it was imported from"
        )
    if tokenizer.normalization or tokenizer.vocabulary.added is not None:
        what = "normalises texts" if tokenizer.normalization else "has added tokens"
        raise TokbenchError(
            f"{tokenizer.name or 'the tokenizer'} {what}, so it is not exported; use the file that it was imported from"
        )


def _tokenizer_json(tokenizer: Tokenizer, counts: PretokenCounts, folder: Path, _: Characters) -> str:
    from tokbench.adapters import export_hugging_face

    message = export_hugging_face.export(tokenizer, counts, folder)
    if message.startswith(export_hugging_face.REJECTED):
        raise TokbenchError(f"{message.removeprefix(export_hugging_face.REJECTED)}; nothing is written")
    write_configuration(folder, FAST, tokenizer.end_token)
    return message


def _tiktoken(tokenizer: Tokenizer, counts: PretokenCounts, folder: Path, _: Characters) -> str:
    from tokbench.adapters import export_tiktoken

    return export_tiktoken.export(tokenizer, counts, folder)


def _sentencepiece(tokenizer: Tokenizer, counts: PretokenCounts, folder: Path, characters: Characters) -> str:
    from tokbench.adapters import export_sentencepiece

    return export_sentencepiece.export(tokenizer, counts, folder, characters=characters)


def _tokens(tokenizer: Tokenizer, folder: Path) -> str:
    if ids_of(tokenizer.vocabulary) != list(range(len(tokenizer))):
        raise TokbenchError("a list of tokens numbers them by line, and ids of this one have gaps or another order")
    write_tokens(tokenizer.vocabulary.tokens, folder / TOKENS)
    return f"{TOKENS} has {len(tokenizer):,} tokens, and nothing of how they cut"


COMPARED: dict[str, Callable[[Tokenizer, PretokenCounts, Path, Characters], str]] = {
    "tokenizer_json": _tokenizer_json,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
}
"""Exports whose library must return the same ids, by form."""
FORMS = (*COMPARED, "tokens")
"""Forms of an export."""
