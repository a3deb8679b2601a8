"""The matrix products of a transformer, generated from its description: widths, heads, tokens and context.

A product is Z = A B with A holding what is kept (weights, keys, values) and B what streams by (tokens). Query heads
that share keys and values (grouped-query attention) are further columns of one product. Attention is dense: no mask is
exploited, and softmax, normalisation and embeddings have no multiply-accumulates that this model counts.

Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, Section 3.2; grouped queries: Ainslie et al. 2023,
https://arxiv.org/abs/2305.13245; gated units: Shazeer 2020, https://arxiv.org/abs/2002.05202.
"""

from dataclasses import dataclass
from typing import Any, Self

from pydantic import StrictInt, model_validator

from jouleloop.workload.strict import Strict, key


def _size(description: str, default: Any = ..., unit: str = "elements") -> Any:
    """Return a field for a size: positive where it has no default, else 0 may stand for what follows from others."""
    return key(description, unit, default, ge=1 if default is ... else 0)


class Transformer(Strict):
    """A stack of equal transformer blocks; 0 stands for what follows from the other sizes."""

    layers: StrictInt = _size("Blocks.", 1, "blocks")
    width: StrictInt = _size("Width of the model.")
    heads: StrictInt = _size("Query heads.", unit="heads")
    kv_heads: StrictInt = _size("Heads of keys and values; 0: as many as query heads.", 0, "heads")
    head_width: StrictInt = _size("Width of a head; 0: width / heads.", 0)
    inner: StrictInt = _size("Width inside the feed-forward part; 0: four times the width.", 0)
    gated: bool = key("Whether a gate doubles the way up.", "true or false", False)
    sequence: StrictInt = _size("Tokens that are computed at once; 1 when one is decoded.", unit="tokens")
    context: StrictInt = _size("Tokens that are attended to; 0: the sequence.", 0, "tokens")
    vocabulary: StrictInt = _size("Tokens to choose from; 0: no logits.", 0, "tokens")
    logits: StrictInt = _size("Tokens whose logits are computed.", 1, "tokens")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.head_width and self.width % self.heads:
            raise ValueError(
                f"a width of {self.width} is not divisible by {self.heads} heads, and head_width is not given"
            )
        if self.kv_heads and self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} heads of keys and values evenly")
        if not self.layers or not self.logits:
            raise ValueError("layers and logits must be positive")
        return self


@dataclass(frozen=True)
class Product:
    """One matrix product of a transformer: sizes of the kind ``matmul``, how often it runs, and what feeds its B."""

    name: str
    sizes: dict[str, int]
    count: int
    after: str = ""


#: Products whose sizes depend on the context: those of attention proper.
ATTENTION = ("scores", "weighted_values")


def products(spec: Transformer) -> list[Product]:
    """Return every distinct matrix product of a transformer, in the order of computation."""
    head = spec.head_width or spec.width // spec.heads
    kept = spec.kv_heads or spec.heads
    context, inner = spec.context or spec.sequence, spec.inner or 4 * spec.width
    tokens, together = spec.sequence, spec.heads // kept * spec.sequence
    found = [
        Product("query", {"M": spec.heads * head, "N": tokens, "K": spec.width}, spec.layers),
        Product("key_value", {"M": kept * head, "N": tokens, "K": spec.width}, 2 * spec.layers),
        Product("scores", {"H": kept, "M": context, "N": together, "K": head}, spec.layers, "query"),
        Product("weighted_values", {"H": kept, "M": head, "N": together, "K": context}, spec.layers, "scores"),
        Product("output", {"M": spec.width, "N": tokens, "K": spec.heads * head}, spec.layers, "weighted_values"),
        Product("up", {"M": inner, "N": tokens, "K": spec.width}, spec.layers * (1 + spec.gated), "output"),
        Product("down", {"M": spec.width, "N": tokens, "K": inner}, spec.layers, "up"),
    ]
    if spec.vocabulary:
        found.append(Product("logits", {"M": spec.vocabulary, "N": spec.logits, "K": spec.width}, 1))
    return found
