"""One flax transformer that covers the eight models: training, evaluation, decoding with a cache of keys and values.

Collections: `params` (the model), `lora` (adapters of rank 16 on the fused projection of queries, keys and values and
on the output projection, where asked for) and `cache` (keys and values of a decoding run). Layers are scanned, or
unrolled for comparison: a scan stacks the leaves of all layers, which makes few large buffers; unrolled there are many
small ones. Attention computes its scores in full, as the models did when the GMLake paper measured them.
"""

from __future__ import annotations

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from benchmarks.models.configurations import Configuration

TYPE = jnp.bfloat16
LORA_RANK = 16

Array = jax.Array


class Projection(nn.Module):
    """A dense layer, with an adapter beside it where `rank` is not 0. The adapter starts at zero."""

    features: int
    bias: bool
    rank: int = 0

    @nn.compact
    def __call__(self, x: Array) -> Array:
        y = nn.Dense(self.features, use_bias=self.bias, dtype=TYPE, param_dtype=TYPE)(x)
        return y + self.adapter(x) if self.rank else y

    def adapter(self, x: Array) -> Array:
        """The low-rank part."""
        scale = x.shape[-1] ** -0.5

        def down() -> Array:
            return jax.random.normal(self.make_rng("params"), (x.shape[-1], self.rank), TYPE) * scale

        a = self.variable("lora", "a", down).value
        b = self.variable("lora", "b", jnp.zeros, (self.rank, self.features), TYPE).value
        return x @ a @ b


def norm(c: Configuration) -> nn.Module:
    """The model's normalisation."""
    kind = nn.RMSNorm if c.norm == "rms" else nn.LayerNorm
    return kind(dtype=TYPE, param_dtype=TYPE)


def rotate(x: Array, positions: Array, share: float) -> Array:
    """Rotary positions on the first `share` of each head."""
    turned, straight = jnp.split(x, [int(x.shape[-1] * share)], axis=-1)
    half = turned.shape[-1] // 2
    frequency = 10000.0 ** (-jnp.arange(half) / half)
    angle = (positions[:, None] * frequency)[None, :, None, :]
    sine, cosine = jnp.sin(angle).astype(x.dtype), jnp.cos(angle).astype(x.dtype)
    one, two = jnp.split(turned, 2, axis=-1)
    return jnp.concatenate([one * cosine - two * sine, two * cosine + one * sine, straight], axis=-1)


class Attention(nn.Module):
    """Causal attention; with `cached` keys and values, that of the newest token alone."""

    c: Configuration
    rank: int
    cached: int = 0  # length of the cache

    @nn.compact
    def __call__(self, x: Array, positions: Array) -> Array:
        c = self.c
        fused = Projection(3 * c.width, c.bias, self.rank, name="qkv")(x)
        q, k, v = (part.reshape(*x.shape[:2], c.heads, c.head) for part in jnp.split(fused, 3, axis=-1))
        if c.positions == "rotary":
            q, k = rotate(q, positions, c.rotary_share), rotate(k, positions, c.rotary_share)
        mask = None
        if self.cached:
            k, v = self.remember("keys", k, positions), self.remember("values", v, positions)
            mask = (jnp.arange(self.cached) <= positions[0])[None, None, None, :]
        y = jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=not self.cached)
        return Projection(c.width, c.bias, self.rank, name="out")(y.reshape(x.shape))

    def remember(self, name: str, new: Array, positions: Array) -> Array:
        """The cache with the newest token in its place."""
        shape = (new.shape[0], self.cached, *new.shape[2:])
        cache = self.variable("cache", name, jnp.zeros, shape, TYPE)
        cache.value = jax.lax.dynamic_update_slice(cache.value, new, (0, positions[0], 0, 0))
        return cache.value


class Perceptron(nn.Module):
    """The feed-forward part."""

    c: Configuration

    @nn.compact
    def __call__(self, x: Array) -> Array:
        c = self.c
        up = Projection(c.ffn, c.bias, name="up")(x)
        if c.mlp == "swiglu":
            up = nn.silu(Projection(c.ffn, c.bias, name="gate")(x)) * up
        else:
            up = nn.relu(up) if c.mlp == "relu" else nn.gelu(up)
        return Projection(c.width, c.bias, name="down")(up)


class Block(nn.Module):
    """One layer."""

    c: Configuration
    rank: int
    cached: int = 0

    @nn.compact
    def __call__(self, x: Array, positions: Array) -> tuple[Array, None]:
        attended = Attention(self.c, self.rank, self.cached)(norm(self.c)(x), positions)
        if self.c.parallel:
            return x + attended + Perceptron(self.c)(norm(self.c)(x)), None
        x = x + attended
        return x + Perceptron(self.c)(norm(self.c)(x)), None


class Transformer(nn.Module):
    """Tokens in, hidden states out; `logits` makes scores of them."""

    c: Configuration
    scanned: bool = True
    remat: bool = False
    rank: int = 0
    cached: int = 0

    def setup(self) -> None:
        c = self.c
        table = functools.partial(nn.Embed, dtype=TYPE, param_dtype=TYPE)
        self.embedding = table(c.vocabulary, c.width)
        learned = c.positions == "learned"
        self.places = [table(c.context, c.width) for _ in range(c.position_tables if learned else 0)]
        self.layers = self.make_layers()
        self.last = norm(c)
        self.head = None if c.tied else nn.Dense(c.vocabulary, use_bias=False, dtype=TYPE, param_dtype=TYPE)

    def make_layers(self) -> Any:
        """All layers as one scanned module, or as a list of them."""
        block = nn.remat(Block, prevent_cse=not self.scanned) if self.remat else Block
        if not self.scanned:
            return [block(self.c, self.rank, self.cached) for _ in range(self.c.layers)]
        axes = {"params": 0, "lora": 0, "cache": 0}
        scan = nn.scan(block, axes, split_rngs={"params": True}, length=self.c.layers, in_axes=nn.broadcast)
        return scan(self.c, self.rank, self.cached)

    def __call__(self, tokens: Array, start: Array | int = 0) -> Array:
        positions = start + jnp.arange(tokens.shape[1])
        x = self.embedding(tokens)
        for place in self.places:
            x = x + place(positions)
        for layer in [self.layers] if self.scanned else self.layers:
            x, _ = layer(x, positions)
        return self.logits(self.last(x))

    def logits(self, x: Array) -> Array:
        """Scores of the next token."""
        return self.embedding.attend(x) if self.head is None else self.head(x)


def loss_of(logits: Array, tokens: Array) -> Array:
    """Mean cross-entropy of each next token, in float32."""
    scores = logits[:, :-1].astype(jnp.float32)
    right = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - right)


def initial(model: Transformer, batch: int = 1) -> Any:
    """All collections with random values; trace it with `jax.jit` to make them on the device."""

    def make(key: Array) -> Any:
        return model.init(key, jnp.zeros((batch, 1 if model.cached else 8), jnp.int32))

    return make


def parameter_count(c: Configuration) -> int:
    """Parameters of the model, by shapes alone: takes no memory."""
    shapes = jax.eval_shape(initial(Transformer(c)), jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(shapes["params"]))
