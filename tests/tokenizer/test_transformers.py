"""``AutoTokenizer`` on a folder of ours, compared with a stock fast tokenizer of the same vocabulary, call by call."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

import copy
import json
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.hub import FIRST, FIVE, LONG, SECOND, SIZE, TENSOR, TEXTS, Pair, both, folder, marked  # noqa: F401
from tokbench.errors import TokbenchError
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING

WORDS = ["Naïve", " lambda", "don't", "", "東京🦀"]
MARKED = f"{END_OF_TEXT}one {END_OF_TEXT}{PADDING} two{END_OF_TEXT}"
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
MARKING = "{% for m in messages %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}|{% endfor %}"
MESSAGES = [{"role": "user", "content": "lambda? 🦀"}, {"role": "assistant", "content": "for loops"}]

Call = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Return the result of a call in comparable form: tensors and arrays as lists with their type."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return (type(value).__module__, str(value.dtype), value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def looked_up(batch: Any) -> Any:
    """All that a batch tells of its rows; of padding its tokens alone, as versions of ``tokenizers`` differ there."""
    found: list[Any] = []
    for row, mask in enumerate(batch["attention_mask"]):
        found += [batch.tokens(row), batch.word_ids(row)]
        for token, (sequence, word) in enumerate(zip(batch.sequence_ids(row), batch.word_ids(row), strict=True)):
            if mask[token]:
                found += [sequence, batch.token_to_sequence(row, token)]
            if word is not None:
                start, end = batch.token_to_chars(row, token)
                found += [batch.token_to_word(row, token), (start, end)]
                found += [batch.char_to_token(row, start, sequence), batch.char_to_word(row, start, sequence)]
                found += [tuple(batch.word_to_tokens(row, word, sequence))]
                found += [tuple(batch.word_to_chars(row, word, sequence))]
    return found


FULL = {
    "return_offsets_mapping": True,
    "return_special_tokens_mask": True,
    "return_token_type_ids": True,
    "return_length": True,
}


def asked(*texts: Any, **settings: Any) -> Call:
    return lambda tokenizer: tokenizer(*texts, **settings)


def with_side(call: Call, **sides: str) -> Call:
    """The call after sides of padding or truncation were set."""

    def done(tokenizer: Any) -> Any:
        for name, side in sides.items():
            setattr(tokenizer, name, side)
        return call(tokenizer)

    return done


def after(change: Call, call: Call) -> Call:
    def done(tokenizer: Any) -> Any:
        change(tokenizer)
        return call(tokenizer)

    return done


def add(*tokens: Any, special: bool = False) -> Call:
    return lambda tokenizer: tokenizer.add_tokens(list(tokens), special_tokens=special)


def saved(tokenizer: Any) -> Any:
    """The tokenizer as it is read again where it was saved."""
    from transformers import AutoTokenizer

    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        return AutoTokenizer.from_pretrained(folder)


def collated(tokenizer: Any, texts: list[str]) -> Any:
    from transformers import DataCollatorForLanguageModeling

    collate = DataCollatorForLanguageModeling(tokenizer, mlm=False, return_tensors=TENSOR)
    return collate([tokenizer(text) for text in texts])


CALLS: dict[str, Call] = {
    # What stands in a tokenizer
    "sizes": lambda t: [len(t), t.vocab_size, sorted(t.get_vocab().items()), t.get_added_vocab()],
    "special tokens": lambda t: [t.all_special_tokens, t.all_special_ids, t.special_tokens_map, t.eos_token_id],
    "special roles": lambda t: [t.bos_token, t.pad_token, t.pad_token_id, t.unk_token, t.unk_token_id, t.cls_token],
    "added tokens": lambda t: [t.added_tokens_encoder, {key: str(one) for key, one in t.added_tokens_decoder.items()}],
    "added to sequences": lambda t: [t.num_special_tokens_to_add(pair) for pair in (False, True)],
    "limits": lambda t: [t.model_max_length, t.max_len_single_sentence, t.padding_side, t.truncation_side],
    # Tokens and ids
    "tokenize": lambda t: [t.tokenize(text) for text in [*TEXTS, MARKED]],
    "tokenize a pair": lambda t: t.tokenize(FIRST, SECOND),
    "ids to tokens": lambda t: [t.convert_ids_to_tokens(list(range(SIZE + 2))), t.convert_ids_to_tokens(300)],
    "ids to tokens without special": lambda t: t.convert_ids_to_tokens(
        [3, SIZE, 4, SIZE + 1], skip_special_tokens=True
    ),
    "tokens to ids": lambda t: [
        t.convert_tokens_to_ids(["a", "Ġthe", END_OF_TEXT, "none"]),
        t.convert_tokens_to_ids("a"),
    ],
    "tokens to text": lambda t: t.convert_tokens_to_string(t.tokenize(FIRST)),
    # Calls
    **{f"encode {text[:9]!r}": (lambda t, text=text: t.encode(text)) for text in [*TEXTS, MARKED]},
    "encode without special": lambda t: t.encode(FIRST, add_special_tokens=False),
    "one": asked(FIRST),
    "one, all of it": asked(FIRST, **FULL),
    "an empty one": asked("", **FULL),
    "many": asked(TEXTS),
    "many, all of it": asked(TEXTS, **FULL),
    "a list of one": asked([FIRST], **FULL),
    "a pair": asked(FIRST, SECOND, **FULL),
    "pairs": asked(TEXTS, TEXTS[::-1], **FULL),
    "pairs as tuples": asked([(FIRST, SECOND), (SECOND, LONG)], **FULL),
    "encode_plus": lambda t: t.encode_plus(FIRST, SECOND, **FULL),
    "batch_encode_plus": lambda t: t.batch_encode_plus(TEXTS, **FULL),
    "no mask": asked(FIRST, return_attention_mask=False),
    "words": asked(WORDS, is_split_into_words=True, **FULL),
    "batch of words": asked([WORDS, ["for", " loops"]], is_split_into_words=True, padding=True, **FULL),
    "pair of words": asked(WORDS, ["for", " loops"], is_split_into_words=True, **FULL),
    "text_target": lambda t: t(FIRST, text_target=SECOND),
    # Padding
    "padding": asked(TEXTS, padding=True, **FULL),
    "padding to max_length": asked(TEXTS[:3], padding="max_length", max_length=50, **FULL),
    "padding to less than there is": asked(LONG, padding="max_length", max_length=5),
    "padding to a multiple": asked(TEXTS, padding=True, pad_to_multiple_of=8, **FULL),
    "one to a multiple": asked(SECOND, padding=True, pad_to_multiple_of=8, **FULL),
    "padding on the left": with_side(asked(TEXTS, padding=True, **FULL), padding_side="left"),
    "left for once": lambda t: t(TEXTS, padding="longest", padding_side="left", **FULL),
    "pad": lambda t: t.pad([t(text) for text in TEXTS], padding="longest", return_tensors=TENSOR),
    "pad on the left": with_side(lambda t: t.pad(t(TEXTS), pad_to_multiple_of=4), padding_side="left"),
    # Truncation
    "truncation": asked(TEXTS, truncation=True, max_length=7, **FULL),
    "truncation to nothing": asked(TEXTS, truncation=True, max_length=0, **FULL),
    "truncation and padding": asked(TEXTS, truncation=True, padding="max_length", max_length=9, **FULL),
    "truncation on the left": with_side(asked(TEXTS, truncation=True, max_length=7, **FULL), truncation_side="left"),
    **{
        f"pairs {strategy} {length}": asked(
            [FIRST, SECOND], [SECOND, LONG], truncation=strategy, max_length=length, **FULL
        )
        for strategy, length in [
            *(("longest_first", length) for length in (1, 5, 8, 9, 20, 40)),
            *(("only_first", length) for length in (140, 200)),
            *(("only_second", length) for length in (50, 60, 70)),
        ]
    },
    "windows": asked(TEXTS, truncation=True, max_length=10, stride=3, return_overflowing_tokens=True, **FULL),
    "windows of one": asked(
        LONG, truncation=True, max_length=16, stride=5, return_overflowing_tokens=True, padding="max_length", **FULL
    ),
    "windows on the left": with_side(
        asked(LONG, truncation=True, max_length=10, stride=3, return_overflowing_tokens=True, **FULL),
        truncation_side="left",
    ),
    "windows of the second": asked(
        SECOND,
        LONG,
        truncation="only_second",
        max_length=30,
        stride=4,
        return_overflowing_tokens=True,
        padding=True,
        **FULL,
    ),
    "windows of both": asked(
        FIRST, LONG, truncation=True, max_length=30, stride=2, return_overflowing_tokens=True, **FULL
    ),
    # Tensors
    **{
        f"tensors {kind}": asked(TEXTS, padding=True, return_tensors=kind, return_offsets_mapping=True)
        for kind in sorted({TENSOR, "np"})
    },
    "one as a tensor": asked(FIRST, return_tensors=TENSOR),
    "encode as a tensor": lambda t: t.encode(FIRST, return_tensors=TENSOR),
    # Rows, words, characters
    "look up": lambda t: looked_up(t([*TEXTS, MARKED], padding=True)),
    "look up on the left": lambda t: looked_up(t(TEXTS, padding=True, padding_side="left")),
    "look up a pair": lambda t: looked_up(t([(FIRST, SECOND)])),
    "look up words": lambda t: looked_up(t([WORDS], is_split_into_words=True)),
    # From ids to text
    "decode": lambda t: [t.decode(t.encode(text)) for text in [*TEXTS, MARKED]],
    "decode without special": lambda t: t.decode(t.encode(MARKED), skip_special_tokens=True),
    "decode tensors": lambda t: t.decode(t.encode(FIRST, return_tensors=TENSOR)[0]),
    "decode parts of characters": lambda t: [t.decode(ids) for ids in ([0xE6], [0xE6, 0x9D], [0xFF, 97, 0x80, 0xF0])],
    "decode one id": lambda t: [t.decode(97), t.decode([]), t.decode(SIZE)],
    "decode with clean-up": lambda t: t.decode(t.encode("do n't , stop ."), clean_up_tokenization_spaces=True),
    "batch_decode": lambda t: t.batch_decode(t(TEXTS, padding=True)["input_ids"], skip_special_tokens=True),
    "batch_decode tensors": lambda t: t.batch_decode(t(TEXTS, padding=True, return_tensors="np")["input_ids"]),
    # Tokens that are added
    "special tokens in a text": asked(MARKED, **FULL),
    "special tokens as text": asked(MARKED, split_special_tokens=True, **FULL),
    "add": after(
        add("<new>", "naïve word", "Strasse"),
        lambda t: [len(t), t("a <new>naïve word<new> x", **FULL), t.get_added_vocab()],
    ),
    "add what is there": after(add("the", "lambda", "a"), lambda t: [len(t), t("the lambda a", **FULL)]),
    "add special": after(
        add("<a>", special=True),
        lambda t: [len(t), t.decode(t.encode("x<a>y"), skip_special_tokens=True), t("x<a>y", **FULL)],
    ),
    "add special tokens": after(
        lambda t: t.add_special_tokens({"sep_token": "<sep>", "additional_special_tokens": ["<u>", "<v>"]}),
        lambda t: [t.sep_token_id, t.all_special_tokens, t.special_tokens_map, len(t), t("a<sep>b<u><v>", **FULL)],
    ),
    "another padding": after(
        lambda t: t.add_special_tokens({"pad_token": "<pad>"}), lambda t: [t.pad_token_id, t(TEXTS, padding=True)]
    ),
    "the longest is taken": after(add("<ab", "<abc>", "b"), lambda t: t("<abc><ab<a b", **FULL)),
    "special ones first": after(
        lambda t: [add("<|endof")(t), add("text|>x")(t), add("f<|e", special=True)(t)],
        asked(f"{END_OF_TEXT}x f{END_OF_TEXT}", **FULL),
    ),
    "added tokens with blanks": lambda t: after(
        add(marked("<l>", lstrip=True), marked("<r>", rstrip=True), marked("<b>", lstrip=True, rstrip=True)),
        asked("a  <l> b <r> \n c <b> <l> <r>\u00a0<b> d", **FULL),
    )(t),
    "added tokens that are words": lambda t: after(
        add(marked("word", single_word=True), marked("ж", single_word=True)),
        asked("word sword words word, ж ж1 _ж 2word (word)", **FULL),
    )(t),
    "decode added": after(add("<new>", "東"), lambda t: [t.decode(t.encode("a<new> b東")), t.tokenize("a<new> b東")]),
    "added token to ids": after(add("<new>"), lambda t: t.convert_tokens_to_ids(["<new>", "a"])),
    "added token to text": after(add("<new>"), lambda t: t.convert_tokens_to_string(["a", "<new>", "Ġb"])),
    # Conversations
    "chat as text": lambda t: t.apply_chat_template(
        MESSAGES, chat_template=TEMPLATE, tokenize=False, add_generation_prompt=True
    ),
    "chat": lambda t: t.apply_chat_template(
        [MESSAGES, MESSAGES[:1]], chat_template=TEMPLATE, padding=True, return_dict=True
    ),
    "chat, assistant's part": lambda t: t.apply_chat_template(
        MESSAGES, chat_template=MARKING, return_dict=True, return_assistant_tokens_mask=True
    ),
    # Copies
    "pickled": lambda t: pickle.loads(pickle.dumps(t))(TEXTS, **FULL),
    "copied": lambda t: copy.deepcopy(t)(TEXTS, **FULL),
    "copied with added tokens": after(add("<new>"), lambda t: copy.deepcopy(t)("a<new>b", **FULL)),
    "saved": lambda t: saved(t)(TEXTS, **FULL),
    "saved with added tokens": after(
        lambda t: [add("<new>", "naïve")(t), t.add_special_tokens({"sep_token": "<sep>", "pad_token": "<pad>"})],
        lambda t: [saved(t)("a<new>b<sep>naïve", **FULL), len(saved(t)), saved(t).sep_token_id, saved(t).pad_token_id],
    ),
    "saved with added tokens that are words": lambda t: after(
        add(marked("word", single_word=True, rstrip=True)), lambda t: saved(t)("word  sword", **FULL)
    )(t),
    "saved twice": after(
        add("<new>"), lambda t: after(add("<other>"), lambda t: saved(t)("<other><new>", **FULL))(saved(t))
    ),
    "saved with sides and a limit": with_side(
        lambda t: saved(t)(TEXTS, padding=True, truncation=True, **FULL),
        padding_side="left",
        truncation_side="left",
        model_max_length=11,
    ),
    "saved with a template": with_side(
        lambda t: [saved(t).chat_template, saved(t).apply_chat_template(MESSAGES, tokenize=False)],
        chat_template=TEMPLATE,
    ),
    # What others do with one
    "collated": lambda t: collated(t, ["lambda", SECOND]),
    # Rare
    "prepare_for_model": lambda t: t.prepare_for_model(
        t.encode(FIRST), t.encode(SECOND), truncation=True, max_length=9
    ),
    "special tokens mask": lambda t: t.get_special_tokens_mask([3, SIZE, 4], already_has_special_tokens=True),
    "build inputs": lambda t: t.build_inputs_with_special_tokens([1, 2], [3]),
}
"""Calls on both tokenizers, with comparable results."""

OF_FOUR = {"encode_plus", "batch_encode_plus", "prepare_for_model", "build inputs", "decode with clean-up", "ids"}
"""Calls that version 5 does not have, or that its stock class ignores."""

DIFFER: dict[str, tuple[Call, Any, Any]] = {
    # They are of two classes: programs ask this of a tokenizer to reach for its library's object.
    "is_fast": (lambda t: t.is_fast, False, True),
    # Told is how many are new; the stock one counts those that are tokens of the vocabulary already.
    "number added": (add("a", "<new>"), 1, 2),
    # The documentation promises the special ones here; the stock one leaves out those without a role.
    "special without a role": (
        after(add("<a>", special=True), lambda t: t.all_special_tokens),
        [END_OF_TEXT, PADDING, "<a>"],
        [END_OF_TEXT, PADDING],
    ),
    # Tokens are named as the vocabulary has them; the stock one names them with the blanks that they took along.
    "added token with blanks": (
        after(lambda t: add(marked("<r>", rstrip=True))(t), lambda t: t.tokenize("a<r>  b")),
        ["a", "<r>", "b"],
        ["a", "<r>  ", "b"],
    ),
    # Decoding takes an added token for its characters; the stock one takes them for bytes where they could spell some.
    "added token of letters": (after(add("<é>"), lambda t: t.decode(t.encode("a<é>"))), "a<é>", "a<\ufffd>"),
}
"""Calls that give something else, ours first, then the stock one's."""

REJECTED: dict[str, tuple[Call, str]] = {
    "ids": (lambda t: t.batch_encode_plus([3]), "^3 is neither text nor a pair of texts; pass text, or words and"),
    "three texts": (asked([("a", "b", "c")]), "is neither text nor a pair of texts"),
    "too short a text": (
        asked(SECOND, LONG, truncation="only_first", max_length=9),
        r"^truncation 'only_first': the text has \d+ tokens and \d+ must go; choose 'longest_first'$",
    ),
    "no second text": (
        asked(LONG, truncation="only_second", max_length=9),
        "^truncation 'only_second': there is no second text; pass pairs, or choose another$",
    ),
    "a stride as long as a window": (
        asked(LONG, truncation=True, max_length=5, stride=5, return_overflowing_tokens=True),
        "^stride 5 leaves nothing of max_length 5; pass a smaller one$",
    ),
}
"""Calls that both reject, the stock one with an exception of its library's, ours with one line."""


@pytest.mark.parametrize("name", CALLS)
def test_as_a_stock_fast_tokenizer(name: str, both: Pair) -> None:
    if FIVE and name in OF_FOUR:
        pytest.skip("not in version 5 of transformers")
    ours, stock = (plain(CALLS[name](one)) for one in both)
    assert ours == stock
    if isinstance(stock, dict):
        assert list(ours) == list(stock)


@pytest.mark.parametrize("name", DIFFER)
def test_differences_that_stay(name: str, both: Pair) -> None:
    call, *known = DIFFER[name]
    assert [call(one) for one in both] == known


@pytest.mark.parametrize("name", REJECTED)
def test_calls_that_transformers_rejects_are_rejected(name: str, both: Pair) -> None:
    if FIVE and name in OF_FOUR:
        pytest.skip("not in version 5 of transformers")
    call, message = REJECTED[name]
    ours, stock = both
    with pytest.raises(TokbenchError, match=message):
        call(ours)
    with pytest.raises(BaseException):  # noqa: B017, PT011  # Their library's panics are no Exception.
        call(stock)


def test_an_id_that_is_not_there(both: Pair) -> None:
    """Both decode it to an empty text, as a model may have more rows than there are tokens."""
    ours, stock = both
    for ids in ([SIZE + 2], [97, SIZE + 2, 98], [0xE6, 10**6, 0x9D, 0xB1], SIZE + 2):
        assert ours.decode(ids) == stock.decode(ids)
    assert ours.batch_decode([[97, SIZE + 2], [2**31]]) == stock.batch_decode([[97, SIZE + 2], [2**31]]) == ["a", ""]
    assert stock.convert_ids_to_tokens([SIZE + 2]) == [None]
    with pytest.raises(TokbenchError, match=rf"^id {SIZE + 2} is not in the vocabulary"):
        ours.convert_ids_to_tokens([SIZE + 2])


def test_padding_belongs_to_no_text(both: Pair) -> None:
    """The stock one says so since version 0.22 of ``tokenizers``; before, padding of single texts was of text 0."""
    batch = both[0](["a", "ab cd"], padding=True)
    assert batch.sequence_ids(0) == [0] + [None] * (len(batch["input_ids"][1]) - 1)
    assert batch.token_to_chars(0, 1) is None


FORMS: dict[str, Call] = {
    "a tuple": asked((FIRST, SECOND), padding=True, **FULL),
    "no text at all": lambda t: t("", "", **FULL),
    "pairs, the second padded": asked([SECOND, FIRST], [FIRST, ""], padding=True, **FULL),
    "words as tuples": asked((tuple(WORDS), ("for",)), is_split_into_words=True, padding=True, **FULL),
    "tokenize words": lambda t: t.tokenize(WORDS, is_split_into_words=True),
    "tokenize with special tokens as text": lambda t: t.tokenize(MARKED, split_special_tokens=True),
    "encode a pair": lambda t: t.encode(FIRST, SECOND, truncation=True, max_length=9, padding="max_length"),
    "encode special tokens as text": after(lambda t: setattr(t, "split_special_tokens", True), lambda t: t(MARKED)),
    "a template that was set": with_side(
        lambda t: [
            t.apply_chat_template(MESSAGES, tokenize=False),
            t.apply_chat_template(MESSAGES, return_dict=False, truncation=True, max_length=5),
            t.apply_chat_template([MESSAGES], return_dict=True, return_tensors="np", add_generation_prompt=True),
        ],
        chat_template=TEMPLATE,
    ),
}
"""More of what callers give; a batch is a list or a tuple."""


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_texts(name: str, both: Pair) -> None:
    ours, stock = (plain(FORMS[name](one)) for one in both)
    assert ours == stock


def test_lists_and_texts_are_distinguished(both: Pair) -> None:
    ours, _ = both
    one, two = ours("Hello world")["input_ids"], ours("a")["input_ids"]
    assert ours(["Hello world", "a"])["input_ids"] == [one, two]
    padded = ours(["Hello world", "a"], padding=True)["input_ids"]
    assert padded == [one, two + [ours.pad_token_id] * (len(one) - len(two))]
    assert ours.tokenize("Hello world") == ours.convert_ids_to_tokens(one)
    with pytest.raises((TokbenchError, ValueError), match=r"text_pair|batch length"):
        ours(["a", "b"], ["c"])


def test_an_option_that_is_unknown(both: Pair) -> None:
    ours, _ = both
    line = "^sanitize_control_tokens: a tokenizer of Tokbench has no such option; leave it out$"
    with pytest.raises(TokbenchError, match=line):
        ours("a", sanitize_control_tokens=True)
    if FIVE:
        with pytest.raises(TokbenchError, match=line):
            ours.apply_chat_template(MESSAGES, chat_template=TEMPLATE, sanitize_control_tokens=True)
        assert ours.decode([[97], [98, SIZE]]) == both[1].decode([[97], [98, SIZE]]) == ["a", "b" + END_OF_TEXT]


# What is saved


def test_any_byte_may_be_the_padding(both: Pair) -> None:
    """A byte that is spelt otherwise, such as 0 as Ā, keeps its id, and the letter Ā stays text."""
    ours, stock = both
    for byte in range(256):
        for one in both:
            one.pad_token_id = byte
        assert ours.pad_token == stock.pad_token
        opened = saved(ours)
        assert (opened.pad_token, opened.pad_token_id, opened.eos_token_id) == (stock.pad_token, byte, SIZE)
        assert opened.pad({"input_ids": [[7, 8], [9]]})["input_ids"] == [[7, 8], [9, byte]]
        assert len(opened) == len(ours)
        if ours.pad_token.encode() != bytes([byte]):
            text = f"a{ours.pad_token} {FIRST}"
            assert opened(text)["input_ids"] == ours(text)["input_ids"]
            assert opened.decode([97, byte, 98], skip_special_tokens=True) == "ab"


@pytest.mark.parametrize("spelling", ["Ā", "Ġthe", "é"])
def test_special_tokens_that_spell_other_bytes(spelling: str, both: Pair) -> None:
    """In every role, and saved twice; one that a caller adds is still rejected."""
    ours, _ = both
    number = ours.convert_tokens_to_ids(spelling)
    for role in ("unk_token", "sep_token", "bos_token"):
        setattr(ours, role, spelling)
    setattr(ours, "extra_special_tokens" if FIVE else "additional_special_tokens", [spelling])
    opened = saved(saved(ours))
    assert [opened.unk_token_id, opened.sep_token_id, opened.bos_token_id] == [number] * 3
    assert number in opened.all_special_ids
    assert opened(f"x{spelling}")["input_ids"] == ours(f"x{spelling}")["input_ids"]
    for one in (ours, opened):
        with pytest.raises(
            TokbenchError, match=r"cannot be added: it is the spelling of the token .*, which has other bytes"
        ):
            one.add_special_tokens({"pad_token": spelling})


def test_special_tokens_that_either_version_saved(both: Pair, tmp_path: Path) -> None:
    """Version 5 writes special tokens without a role under another name, as a list."""
    ours, _ = both
    ours.add_special_tokens({"additional_special_tokens": ["<u>", "<v>"]})
    ours.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    for name in ("additional_special_tokens", "extra_special_tokens"):
        settings.pop(name, None)
    (tmp_path / "special_tokens_map.json").unlink(missing_ok=True)
    for name in ("additional_special_tokens", "extra_special_tokens"):
        file.write_text(json.dumps(settings | {name: ["<u>", "<v>"]}))
        opened = type(ours).from_pretrained(tmp_path)
        assert opened("a<u><v>")["input_ids"] == ours("a<u><v>")["input_ids"] == [97, SIZE + 2, SIZE + 3]
        assert opened.decode([97, SIZE + 2, SIZE + 3], skip_special_tokens=True) == "a"


@pytest.mark.parametrize("model", ["gpt2", "llama", "mpt"])
def test_folder_with_a_model_opens_as_our_class(model: str, folder: Path, tmp_path: Path) -> None:
    """A folder that holds a model, too, opens as ours."""
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model}))
    opened = AutoTokenizer.from_pretrained(tmp_path)
    assert type(opened).__name__ == "TokbenchTokenizer"
    assert opened("ab")["input_ids"] == opened.tokenizer.encode("ab").tolist()


def test_code_in_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    """With the code reference of old and new versions, and with and without a model next to the tokenizer."""
    from transformers import AutoTokenizer

    shutil.copytree(folder, tmp_path / "own")
    (tmp_path / "own" / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    file = tmp_path / "own" / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    named = {"AutoTokenizer": ["code.Own", "code.Own"]}
    for auto_map, model in ((named, False), (["code.Own", "code.Own"], False), (named, True)):
        file.write_text(json.dumps(settings | {"auto_map": auto_map}))
        if model:
            (tmp_path / "own" / "config.json").write_text(json.dumps({"model_type": "gpt2", "auto_map": auto_map}))
        for trust in (None, False):
            opened = AutoTokenizer.from_pretrained(tmp_path / "own", trust_remote_code=trust)
            assert type(opened).__name__ == "TokbenchTokenizer"
            assert opened("ab")["input_ids"] == opened.tokenizer.encode("ab").tolist()
        assert type(opened).from_folder(tmp_path / "own")("ab")["input_ids"] == opened("ab")["input_ids"]
    assert not (tmp_path / "ran").exists()
