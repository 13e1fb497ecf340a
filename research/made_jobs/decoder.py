"""A transformer whose every operation asks for its result, as under an eager framework; other families build on it.

Activations are kept for the backward pass, or computed again there; gradients live until the optimizer has used them,
which makes its states at the first step.
"""

from __future__ import annotations

from dataclasses import dataclass

from .job import Job


@dataclass(frozen=True)
class Decoder:
    """The shape of a model: parameters of `width` bytes, two optimizer states of `state` bytes each."""

    dim: int
    layers: int
    heads: int
    vocab: int
    ffn: float = 4
    width: int = 2
    state: int = 2
    gated: bool = False

    @property
    def inner(self) -> int:
        return int(self.ffn * self.dim)

    @property
    def layer(self) -> list[int]:
        """The number of elements of each parameter of a layer."""
        square = self.dim * self.dim
        up_and_down = [self.dim * self.inner] * (3 if self.gated else 2)
        return [3 * square, square, *up_and_down, self.dim, self.dim, 3 * self.dim, self.inner]

    @property
    def parameters(self) -> list[int]:
        return [self.vocab * self.dim, *self.layer * self.layers, self.dim]


GPT_125M = Decoder(dim=768, layers=12, heads=12, vocab=50257, width=4, state=4)
GPT_350M = Decoder(dim=1024, layers=24, heads=16, vocab=50257, state=4)
GPT_2_7B = Decoder(dim=2560, layers=32, heads=32, vocab=50272)
LLAMA_7B = Decoder(dim=4096, layers=32, heads=32, vocab=32000, ffn=2.6875, gated=True)


def load(job: Job, model: Decoder) -> list[int]:
    """The weights alone, as a server holds them."""
    return job.take_all([size * model.width for size in model.parameters])


class Trainer:
    """A decoder in training. `step` is one batch forward and backward, `update` the optimizer."""

    FUSED = 32  # Parameters that the optimizer updates at a time.

    def __init__(self, job: Job, model: Decoder, recompute: bool = False, keeps_gradients: bool = True) -> None:
        self.job, self.model = job, model
        self.recompute, self.keeps_gradients = recompute, keeps_gradients
        self.parameters = load(job, model)
        self.states: list[int] = []
        self.gradients: list[int] = []
        job.wait(2e5)

    # --- one layer, of `tokens` tokens in all

    def forward(self, tokens: int) -> tuple[list[int], int]:
        """What a layer keeps for its backward pass, and its result."""
        job, model = self.job, self.model
        hidden, inner = tokens * model.dim * model.width, tokens * model.inner * model.width
        work = 2 * tokens * model.dim**2
        saved = self._norm(tokens)
        saved.append(self._product(3 * hidden, 3 * work))
        saved.append(self._product(hidden, 2 * work))
        saved.append(job.take(tokens * model.heads * 4))
        projected = self._product(hidden, work)
        saved.append(self._product(hidden, 0))
        job.free(projected)
        saved += self._norm(tokens)
        saved += [self._product(inner, work * model.ffn) for _ in range(3 if model.gated else 2)]
        down = self._product(hidden, work * model.ffn)
        result = self._product(hidden, 0)
        job.free(down)
        return saved, result

    def _norm(self, tokens: int) -> list[int]:
        """The result, means and deviations."""
        job = self.job
        names = job.take_all([tokens * self.model.dim * self.model.width, tokens * 4, tokens * 4])
        job.compute(moved=2 * job.size(names[0]))
        return names

    def _product(self, size: int, flops: float) -> int:
        name = self.job.take(size)
        self.job.compute(flops, moved=3 * size)
        return name

    def backward(self, tokens: int, saved: list[int], gradient: int) -> int:
        """Frees what was saved and the gradient of the result; returns the gradient of the input."""
        job, model = self.job, self.model
        hidden, inner = tokens * model.dim * model.width, tokens * model.inner * model.width
        work = 2 * tokens * model.dim**2
        gradient = self._pulled(inner, work * model.ffn, gradient, [saved.pop()], model.dim * model.inner)
        gradient = self._pulled(hidden, work * model.ffn, gradient, [saved.pop()], model.dim * model.inner)
        gradient = self._pulled(hidden, work, gradient, [], model.dim**2)
        parts = [self._product(hidden, work) for _ in range(3)]
        joined = self._product(3 * hidden, 0)
        job.free(*parts)
        return self._pulled(hidden, 3 * work, gradient, [joined, *reversed(saved)], 3 * model.dim**2)

    def _pulled(self, size: int, flops: float, gradient: int, done: list[int], weight: int) -> int:
        """One product's gradients: that of its input takes the place of its result's; that of its weight is kept."""
        result = self._product(size, flops)
        self._weight_gradient(weight, flops)
        self.job.free(gradient, *done)
        return result

    def _weight_gradient(self, size: int, flops: float) -> None:
        name = self._product(size * self.model.width, flops)
        if self.keeps_gradients:
            self.gradients.append(name)
        else:
            self.job.free(name)

    # --- one step

    def step(self, batch: int, length: int) -> None:
        tokens = batch * length
        inputs = self.job.take_all([tokens * 8, tokens * 8])
        layers, result = self.forward_all(tokens)
        gradient = self._loss(tokens, result)
        gradient = self.backward_all(tokens, layers, gradient)
        self.job.free(gradient, *inputs)
        self.update()

    def forward_all(self, tokens: int) -> tuple[list[tuple[int, list[int]]], int]:
        """Each layer's input and what it saved; and the last result."""
        layers, value = [], self._product(tokens * self.model.dim * self.model.width, 0)
        for _ in range(self.model.layers):
            saved, result = self.forward(tokens)
            if self.recompute:
                self.job.free(*reversed(saved))
                saved = []
            layers.append((value, saved))
            value = result
        return layers, value

    def backward_all(self, tokens: int, layers: list[tuple[int, list[int]]], gradient: int) -> int:
        for value, kept in reversed(layers):
            saved = kept
            if self.recompute:
                saved, again = self.forward(tokens)
                self.job.free(again)
            gradient = self.backward(tokens, saved, gradient)
            self.job.free(value)
        return gradient

    def _loss(self, tokens: int, result: int) -> int:
        job, model = self.job, self.model
        size, work = tokens * model.vocab, 2 * tokens * model.dim * model.vocab
        logits = self._product(size * model.width, work)
        widened, softmax, wide_gradient = (self._product(size * 4, 0) for _ in range(3))
        job.free(softmax, widened)
        narrow = self._product(size * model.width, 0)
        job.free(wide_gradient)
        gradient = self._product(tokens * model.dim * model.width, work)
        self._weight_gradient(model.dim * model.vocab, work)
        job.free(narrow, logits, result)
        return gradient

    # --- the optimizer

    def update(self) -> None:
        sizes = [size * self.model.state for size in self.model.parameters]
        if not self.states:
            self.states = self.job.take_all([size for size in sizes for _ in range(2)])
        for first in range(0, len(sizes), self.FUSED):
            group = sizes[first : first + self.FUSED]
            for _ in range(2):
                temporaries = self.job.take_all(group)
                self.job.compute(moved=4 * sum(group))
                self.job.free(*temporaries)
        self.job.free(*self.gradients)
        self.gradients = []
        self.job.wait(300)

    def close(self) -> None:
        self.job.free(*self.parameters, *self.states, *self.gradients)
