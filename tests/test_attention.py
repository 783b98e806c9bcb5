"""PyTorch's fused attention in the place of llm-foundry's: the same numbers, out and back."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

BATCH, TOKENS, HEADS, WIDTH = 2, 40, 4, 32
USUAL = {
    "past_key_value": None,
    "key_padding_mask": None,
    "is_causal": True,
    "dropout_p": 0.0,
    "training": True,
    "needs_weights": False,
    "attn_logit_softcapping": None,
    "sliding_window_size": -1,
}
"""What llm-foundry's layers say beside the numbers."""


@pytest.fixture
def functions(torch: ModuleType) -> tuple[Callable[..., Any], Callable[..., Any]]:
    pytest.importorskip("llmfoundry")
    from tokbench.pretraining.attention import fused_attention, scaled_multihead_dot_product_attention

    return fused_attention, scaled_multihead_dot_product_attention


def numbers(torch: ModuleType, attend: Callable[..., Any], dtype: Any) -> list[Any]:
    """What comes out, and the gradients of queries, keys and values."""
    from llmfoundry.models.layers.attention import build_alibi_bias

    draws = torch.Generator().manual_seed(1)
    inputs = [torch.randn(BATCH, TOKENS, WIDTH, generator=draws).to(dtype).requires_grad_() for _ in range(3)]
    bias = build_alibi_bias(HEADS, 64, full=False, alibi_bias_max=8)
    out, weights, past = attend(*inputs, HEADS, HEADS, attn_bias=bias, **USUAL)
    assert weights is None
    assert past is None
    out.float().square().sum().backward()
    return [out.detach().float(), *(one.grad.float() for one in inputs)]


@pytest.mark.parametrize(("dtype", "least"), [("float32", 1e-6), ("bfloat16", 2e-2)])
def test_is_that_of_llm_foundry(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], dtype: str, least: float
) -> None:
    fused, theirs = functions
    expected = numbers(torch, theirs, torch.float32)
    for found, right in zip(numbers(torch, fused, getattr(torch, dtype)), expected, strict=True):
        assert (found - right).norm() / right.norm() < least


@pytest.mark.parametrize("shared", [1, 2, HEADS])
def test_is_that_of_llm_foundry_where_heads_share_keys(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], shared: int
) -> None:
    """Without ALiBi, as where positions are rotary."""
    found = []
    for attend in functions:
        draws = torch.Generator().manual_seed(1)
        widths = (WIDTH, WIDTH * shared // HEADS, WIDTH * shared // HEADS)
        inputs = [torch.randn(BATCH, TOKENS, width, generator=draws).requires_grad_() for width in widths]
        out, _, _ = attend(*inputs, HEADS, shared, attn_bias=None, **USUAL)
        out.square().sum().backward()
        found.append([out.detach(), *(one.grad for one in inputs)])
    for ours, theirs in zip(*found, strict=True):
        assert (ours - theirs).norm() / theirs.norm() < 1e-6


@pytest.mark.parametrize("change", [{"dropout_p": 0.1}, {"is_causal": False}, {"needs_weights": True}])
def test_other_attention_is_rejected(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], change: dict[str, object]
) -> None:
    inputs = torch.zeros(1, 4, WIDTH)
    with pytest.raises(NotImplementedError, match="another kind"):
        functions[0](inputs, inputs, inputs, HEADS, HEADS, attn_bias=torch.zeros(1, HEADS, 1, 4), **{**USUAL, **change})
