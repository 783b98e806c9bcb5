"""The token trie: every prefix found, nothing else; forwards, backwards and with tokens left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tokbench.kernels import trie
from tokbench.parallel import shared_by
from tokbench.reference import trie as twin

TOKENS = st.one_of(
    st.lists(st.text("ab", min_size=1, max_size=9).map(str.encode), max_size=60),
    st.lists(st.lists(st.sampled_from([0, 1, 128, 255]), min_size=1, max_size=5).map(bytes), max_size=60),
    st.lists(st.binary(min_size=1, max_size=4), max_size=60),
)


def flat(tokens: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    offsets = np.zeros(len(tokens) + 1, np.int64)
    np.cumsum([len(token) for token in tokens], out=offsets[1:])
    return np.frombuffer(b"".join(tokens), np.uint8), offsets


@given(TOKENS, st.data())
def test_trie_equals_twin(tokens: list[bytes], data: st.DataObject) -> None:
    included = data.draw(st.none() | st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    built = trie.Trie(*flat(tokens), included)
    ids = twin.held(tokens, included)
    assert built.nodes == twin.nodes(ids)
    assert built.max_length == max(map(len, ids), default=0)
    for text in [*tokens, data.draw(st.binary(max_size=6)), b"abababab", b"", bytes(range(256))]:
        assert built.prefixes(text) == twin.prefixes(ids, text)
        assert built.find(text) == ids.get(text, -1)


@given(TOKENS)
def test_backwards_spells_tokens_from_their_end(tokens: list[bytes]) -> None:
    built = trie.Trie(*flat(tokens), backwards=True)
    ids = twin.held([token[::-1] for token in tokens])
    for text in [token[::-1] for token in tokens]:
        assert built.prefixes(text) == twin.prefixes(ids, text)


def test_a_large_vocabulary_is_found_again_and_packed() -> None:
    generator = np.random.default_rng(1)
    tokens = sorted({generator.integers(0, 256, size, np.uint8).tobytes() for size in range(1, 9) for _ in range(4000)})
    built = trie.Trie(*flat(tokens))
    assert [built.find(token) for token in tokens] == list(range(len(tokens)))
    assert built.slots < 1.1 * built.nodes + 1024


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 7])
@pytest.mark.parametrize(("alphabet", "stem"), [(256, b""), (3, b""), (200, b"long stem ")])
def test_subtrees_grown_apart(alphabet: int, stem: bytes, threads: int | None) -> None:
    """Prefixes of one another, all below one stem, in no order: whatever is grown by itself is found again."""
    generator = np.random.default_rng(alphabet)
    made = {
        stem + generator.integers(0, alphabet, size, np.uint8).tobytes() for size in range(1, 12) for _ in range(900)
    }
    tokens = sorted(made, key=lambda token: token[::-1])
    included = generator.random(len(tokens)) < 0.9
    share = None if threads is None else shared_by(threads)
    built = trie.Trie(*flat(tokens), included, share=share)
    ids = twin.held(tokens, included.tolist())
    assert built.nodes == twin.nodes(ids)
    assert built.slots < 1.2 * built.nodes + 1024
    assert [built.find(token) for token in tokens] == [ids.get(token, -1) for token in tokens]
    for token in tokens[:500]:
        assert built.prefixes(token + b"\0") == twin.prefixes(ids, token + b"\0")
        assert built.find(token + b"\0\1") == ids.get(token + b"\0\1", -1)


def test_what_is_raised_in_a_thread_is_raised() -> None:
    tokens = [bytes(divmod(number, 250)) + b"token" for number in range(9000)]

    def share(work: object, items: object) -> None:
        raise MemoryError("none left")

    with pytest.raises(MemoryError, match="none left"):
        trie.Trie(*flat(tokens), share=share)


@pytest.mark.parametrize(
    ("data", "offsets", "included"),
    [
        (b"ab", [0, 1, 1, 2], None),
        (b"ab", [0, 3], None),
        (b"ab", [0, 2, 1], None),
        (b"ab", [], None),
        (b"ab", [0, 1, 2], [True]),
    ],
)
def test_bad_tokens_are_rejected(data: bytes, offsets: list[int], included: list[bool] | None) -> None:
    with pytest.raises(ValueError, match=r"token|offsets|included"):
        trie.Trie(np.frombuffer(data, np.uint8), np.array(offsets, np.int64), included)
