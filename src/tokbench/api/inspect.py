"""Inspection functions of the Python interface; their results print as text and display as HTML in notebooks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.api.texts import Texts, texts_of, tokenizer_of
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError, unknown
from tokbench.examples.cut import SegmentedText, as_json, cut, disputed_boundaries, visible
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES, MOST_THREADS, whole_argument
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import as_bytes, shown

if TYPE_CHECKING:
    import polars as pl

    from tokbench.inspection.checks.run import CheckResult


WIDTH = 100
"""Width of a printed segmentation in columns."""
MAX_SHOWN_BYTES = 100_000
"""Maximum size of a shown text in bytes."""
MAX_CHECKED = 1000
"""Default maximum number of documents of a check."""
COLOURS = {False: ("#dadada", "#bcbcbc"), True: ("#ffd787", "#ffaf5f")}
"""Alternating background colours of tokens that all tokenizers share, and of other tokens."""


@dataclass(frozen=True, repr=False)
class Checks:
    """Results of :func:`check`; prints one line per check, with the shortest input that fails.

    Attributes:
        tokenizer: the tokenizer.
        results: the checks with their findings, in order.
    """

    tokenizer: Tokenizer
    results: "Sequence[CheckResult]"

    @property
    def fit(self) -> bool:
        """True if no check failed; warnings do not count."""
        return not self.failures

    @property
    def failures(self) -> "list[CheckResult]":
        """The checks that failed."""
        return [result for result in self.results if result.result == "failure"]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as ``tokbench check --json`` prints them."""
        from tokbench.inspection.checks import run

        return run.as_json({"name": self.tokenizer.name, "size": len(self.tokenizer)}, [*self.results])

    def __repr__(self) -> str:
        names = ", ".join(result.check.name for result in self.failures)
        return (
            f"Checks({self.tokenizer.name!r}, {len(self.results)} checks, {f'failed: {names}' if names else 'valid'})"
        )

    def __str__(self) -> str:
        from tokbench.inspection.checks import run

        return run.as_text(repr(self.tokenizer), [*self.results], lambda text, _: text).rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def check(tokenizer: Tokenizer, documents: Texts = (), *, limit: int = MAX_CHECKED) -> Checks:
    """Run the sanity checks of ``tokbench check``: round trip, agreement of calls, reachable tokens.

    Args:
        tokenizer: the tokenizer. A wrapped function needs its ``decode``.
        documents: further texts to check with, as in :func:`count`. Default: none.
        limit: maximum number of documents (default: 1,000).

    Raises:
        TokbenchError: not a tokenizer, no ``decode``, or not a text. Exceptions of the tokenizer are failed checks.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat sat on the mat"), 260)
        >>> checks = tokbench.check(bpe)
        >>> checks.fit
        True
    """
    from tokbench.inspection.checks import run
    from tokbench.inspection.checks.subject import TokenizerUnderTest

    _decoding("check", tokenizer)
    texts = [*islice(texts_of("check", documents), whole_argument("limit", limit, 0, LARGEST_BYTES))]
    return Checks(tokenizer, run.checked(TokenizerUnderTest(tokenizer, None, texts)))


def _decoding(call: str, value: Any) -> Tokenizer:
    """Return the value if it is a tokenizer that decodes.

    Raises:
        TokbenchError: it is not.
    """
    tokenizer = tokenizer_of(call, value)
    try:
        tokenizer.require_decode()
    except TokbenchError as error:
        raise TokbenchError(f"{call}: {error}") from None
    return tokenizer


@dataclass(frozen=True, repr=False)
class Cuts:
    """Segmentations of a text by one or more tokenizers; prints one row per tokenizer, with ids below.

    Attributes:
        text: the text.
        cuts: for each tokenizer, its name, and its tokens with ids and offsets.
    """

    text: bytes
    cuts: tuple[SegmentedText, ...]

    def __repr__(self) -> str:
        counts = ", ".join(f"{segmented.name} {len(segmented.tokens)}" for segmented in self.cuts)
        return f"Cuts({len(self.text)} bytes; tokens: {counts})"

    def __str__(self) -> str:
        from tokbench.examples.columns import cuts_text

        return cuts_text(self.cuts, self.text, WIDTH, colour=False).rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the cuts as ``tokbench show --json`` prints them."""
        return as_json(self.cuts, self.text)

    def _repr_html_(self) -> str:
        """Return a table of coloured tokens with ids as tooltips; tokens that not all tokenizers share are orange."""
        common = frozenset.intersection(*(segmented.spans for segmented in self.cuts))
        borders = disputed_boundaries(self.cuts)
        rows = []
        for segmented in self.cuts:
            tokens = []
            for place, token in enumerate(segmented.tokens):
                colour = COLOURS[(token.start, token.end) not in common][place % 2]
                edge = "2px solid" if token.end in borders else "1px dotted"
                style = f"background:{colour};color:#000;border-right:{edge} #000"
                tokens.append(f'<span title="id {token.id}" style="{style}">{escape(visible(token.data))}</span>')
            count = f"<td>{len(segmented.tokens)}</td>"
            line = f'<td style="text-align:left;font-family:monospace">{"<wbr>".join(tokens)}</td>'
            rows.append(f"<tr><th>{escape(segmented.name)}</th>{count}{line}</tr>")
        return f"<table><tr><th></th><th>tokens</th><th></th></tr>{''.join(rows)}</table>"


def show(tokenizers: Tokenizer | Iterable[Tokenizer], text: str | bytes) -> Cuts:
    """Return the segmentations of a text; print the result, or display it in colour in a notebook.

    Args:
        tokenizers: a tokenizer, or several.
        text: the text, up to 100,000 bytes.

    Raises:
        TokbenchError: not a tokenizer, no ``decode``, or the text is too long or a file name.

    Examples:
        >>> words = tokbench.wrap(lambda text: text.split(" "), name="words")
        >>> letters = tokbench.wrap(list, name="letters")
        >>> cuts = tokbench.show([words, letters], "cat")
        >>> cuts
        Cuts(3 bytes; tokens: words 1, letters 3)
        >>> print(cuts)
        words   cat  │
                0
        letters c┃a┃t│
                0 1 2
        ...
    """
    several = [tokenizers] if isinstance(tokenizers, Tokenizer) else tokenizers
    if isinstance(several, str | Mapping) or not isinstance(several, Iterable):
        raise TokbenchError(f"show: {shown(tokenizers)} is not a tokenizer; pass one, or several in a list")
    opened = [_decoding("show", tokenizer) for tokenizer in several]
    if not opened:
        raise TokbenchError("show: pass a tokenizer")
    if isinstance(text, str) and len(text) < WIDTH and Path(text).is_file():
        raise TokbenchError(f"show: {text} is a file; pass its text, as in tokbench.read({text!r})[0]")
    data = as_bytes(text)
    if len(data) > MAX_SHOWN_BYTES:
        raise TokbenchError(f"show: the text has {len(data):,} bytes; pass {MAX_SHOWN_BYTES:,} or fewer")
    return Cuts(data, tuple(cut(tokenizer.name, tokenizer, data) for tokenizer in opened))


def bound(
    counts: PretokenCounts,
    size: int,
    *,
    gap: float = 0.001,
    steps: int = 1000,
    max_token_bytes: int | None = None,
    max_pretoken_bytes: int = MAX_PRETOKEN_BYTES,
    threads: int = 1,
) -> dict[str, Any]:
    """Compute a lower bound on the tokens that any vocabulary of a size needs for a text, with any segmentation.

    Args:
        counts: pre-token counts of the text. The bound is valid for their pre-tokenization only.
        size: tokens of the vocabulary, including the 256 bytes.
        gap: stop when a vocabulary exceeds the bound by at most this share (default: 0.001).
        steps: stop after this many steps (default: 1,000).
        max_token_bytes: longest token in bytes. Default: no limit.
        max_pretoken_bytes: longest pre-token in bytes; longer ones are excluded (default: 256).
        threads: number of threads; the result does not depend on it. Default: 1.

    Returns:
        ``bound`` (minimum number of tokens), ``tokens`` (of the best vocabulary found), ``gap`` (``tokens`` relative to
        ``bound``, minus 1), and the further values of ``tokbench bound``, without ``seconds`` and ``made_from``.

    Raises:
        TokbenchError: not counts, a size below 256, or pre-tokens too long for all their substrings.

    Examples:
        >>> counts = tokbench.count("the cat sat on the mat and the hat " * 20)
        >>> proof = tokbench.bound(counts, 260)
        >>> proof["bound"] <= tokbench.build("bpe", counts, 260).segment(counts)[0].size * 20
        True
    """
    from tokbench.candidates.initial import check_size
    from tokbench.optimum.bound import bound_text

    if not isinstance(counts, PretokenCounts):
        raise TokbenchError(f"bound: {shown(counts)} is not pre-token counts; make them with tokbench.count(texts)")
    check_size(size)
    return bound_text(
        counts,
        {"": counts},
        size,
        must=True,
        gap=gap,
        steps=whole_argument("steps", steps, 1, LARGEST_BYTES),
        longest=max_token_bytes,
        max_pretoken_bytes=max_pretoken_bytes,
        threads=whole_argument("threads", threads, 1, MOST_THREADS),
    )


def ngram_bits(
    tokenizer: Tokenizer,
    train: Texts,
    test: Texts,
    *,
    order: int = HIGHEST_NGRAM_ORDER,
    training_bytes: Sequence[int] | None = None,
) -> "pl.DataFrame":
    """Return the bits per byte of a text under token n-gram models.

    Args:
        tokenizer: the tokenizer. A wrapped function needs its ``size``; without ``decode``, all bytes are lost.
        train: texts to train the models on, as in :func:`count`.
        test: other texts to test them on.
        order: highest order of the models (default and maximum: 5).
        training_bytes: bytes of text to train on. Default: all of it, and half.

    Returns:
        One row for each number of training bytes and each order: ``training_bytes``, ``order``, ``bits_per_byte``.
        Equal in all rows: ``bytes_lost`` (upper bound on the bytes of ``test`` that decoding does not restore; a
        tokenizer that loses text predicts less of it, and its bits are not comparable with those of others),
        ``pretokenization`` and ``size`` (nominal).

    Raises:
        TokbenchError: not a tokenizer, a text is empty, or it has fewer bytes than ``training_bytes``.

    Examples:
        >>> bpe = tokbench.build("bpe", tokbench.count("the cat sat on the mat"), 260)
        >>> bits = tokbench.ngram_bits(bpe, "the cat sat on the mat " * 10, "the mat sat on the cat", order=2)
        >>> bits["order"].to_list(), bits["bytes_lost"].to_list()
        ([1, 2, 1, 2], [0, 0, 0, 0])
    """
    import polars as pl

    from tokbench.intrinsic.ngram_bits import tokenizer_ngram_bits
    from tokbench.models.pretraining.order import encode_documents

    if not tokenizer_of("ngram_bits", tokenizer).nominal_size:
        raise TokbenchError(f"ngram_bits: {tokenizer.name}: vocabulary size not known; pass size to tokbench.wrap")
    training, tested = ([*_numbered(texts)] for texts in (train, test))
    result = tokenizer_ngram_bits(
        tokenizer,
        partial(encode_documents, tokenizer),
        lambda: training,
        tested,
        order=whole_argument("order", order, 1, HIGHEST_NGRAM_ORDER),
        training_bytes=training_bytes,
    )
    kinds = {"training_bytes": pl.Int64, "order": pl.Int64, "bits_per_byte": pl.Float64, "bytes_lost": pl.Int64}
    schema = {**kinds, "pretokenization": pl.String, "size": pl.Int64}
    of_all = {
        "bytes_lost": sum(document.get("bytes_lost", 0) for document in result["documents"]),
        "pretokenization": result["pretokenization"],
        "size": result["size"],
    }
    rows = [{name: (model | of_all)[name] for name in schema} for model in result["models"]]
    return pl.DataFrame(rows, schema=schema)


def _numbered(texts: Texts) -> Iterator[Document]:
    return (Document(number, "", text) for number, text in enumerate(texts_of("ngram_bits", texts)))


class Results(Mapping[str, "pl.DataFrame"]):
    """Tables of an experiment by name, each read on first use.

    Attributes:
        folder: the experiment's folder.
    """

    def __init__(self, folder: Path) -> None:
        from tokbench.inspection.comparison.runs import files_of
        from tokbench.tabulation.table import tables_of

        self.folder = folder
        self._files = files_of(folder, tables_of("tabulate", "analyse"))
        self._frames: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> "pl.DataFrame":
        from tokbench.inspection.comparison.runs import read_table

        if name not in self._files:
            raise TokbenchError(f"{self.folder}: {unknown(str(name), 'table', self._files)}")
        if name not in self._frames:
            self._frames[name] = read_table(*self._files[name])
        return self._frames[name]

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {len(self)} tables)"

    def _repr_html_(self) -> str:
        rows = (f"<tr><td>{name}</td><td>{escape(table.rows)}</td></tr>" for name, (_, table) in self._files.items())
        return f"<table><tr><th>table</th><th>one row is</th></tr>{''.join(rows)}</table>"


def read_results(folder: Path | str) -> Results:
    """Return the tables of a run, such as ``results/demo`` or ``results/published/novels``, as polars frames.

    Args:
        folder: the folder of the experiment.

    Returns:
        A mapping of names to frames; the site's page of tables describes each.

    Raises:
        TokbenchError: the folder has no tables; or, on first use, a table is damaged.

    Examples:
        >>> import polars
        >>> from pathlib import Path
        >>> Path("results/demo/tables").mkdir(parents=True)
        >>> table = {"variant": "bpe", "size": 1024, "model": "tiny", "suite": "s", "text": "t", "bytes": 9}
        >>> polars.DataFrame([table]).write_parquet("results/demo/tables/texts.parquet")
        >>> results = tokbench.read_results("results/demo")
        >>> results
        Results('results/demo', 1 tables)
        >>> results["texts"]["bytes"].to_list()
        [9]
    """
    return Results(Path(folder))
