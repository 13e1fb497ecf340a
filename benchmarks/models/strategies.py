"""How a model is trained: N plain, R recomputation (remat), L LoRA, O optimizer state on page-locked host memory.

A `Trainer` holds the compiled programs of one model and strategy; its state is a dict of what trains (`trained`), what
does not (`frozen`, for LoRA) and the optimizer's moments (`moments`). A step donates what it replaces. Under O the
moments live in `pinned_host` between steps, and the step itself moves them in and out, which is JAX's own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from benchmarks.models.configurations import STRATEGY_NAMES, Configuration
from benchmarks.models.model import LORA_RANK, Array, Transformer, initial, loss_of

State = dict[str, Any]
LEARNING_RATE = 1e-4


@dataclass(frozen=True)
class Strategy:
    """The letters, spelled out."""

    name: str
    remat: bool
    lora: bool
    offload: bool


STRATEGIES = {name: Strategy(name, "R" in name, "L" in name, "O" in name) for name in STRATEGY_NAMES}


def placed(tree: Any, kind: str) -> Any:
    """Shardings that put each array of a tree into a kind of memory; scalars stay on the device."""
    device = jax.devices()[0]

    def place(leaf: Any) -> Any:
        return jax.sharding.SingleDeviceSharding(device, memory_kind=kind if leaf.ndim else "device")

    return jax.tree.map(place, tree)


class Trainer:
    """The programs of one training job."""

    def __init__(self, c: Configuration, strategy: Strategy, scanned: bool = True) -> None:
        self.c, self.strategy = c, strategy
        rank = LORA_RANK if strategy.lora else 0
        self.model = Transformer(c, scanned, strategy.remat, rank)
        self.optimizer = optax.adamw(LEARNING_RATE, b2=0.95)
        self.abstract = jax.eval_shape(self._init, jax.random.key(0))
        self.init = jax.jit(self._init, out_shardings=self.shardings())
        self.step = jax.jit(self._step, donate_argnums=(0, 1), out_shardings=self.step_shardings())
        self.loss = jax.jit(self._loss)

    def _init(self, key: Array) -> State:
        made = initial(self.model)(key)
        trained = made["lora"] if self.strategy.lora else made["params"]
        frozen = made["params"] if self.strategy.lora else {}
        return {"trained": trained, "moments": self.optimizer.init(trained), "frozen": frozen}

    def shardings(self) -> State:
        """Where each array of the state lives."""
        moments = "pinned_host" if self.strategy.offload else "device"
        return {name: placed(tree, moments if name == "moments" else "device") for name, tree in self.abstract.items()}

    def step_shardings(self) -> tuple[Any, Any, Any]:
        """Where the results of a step live."""
        shardings = self.shardings()
        return shardings["trained"], shardings["moments"], placed(jnp.float32(0), "device")

    def _variables(self, trained: Any, frozen: Any) -> dict[str, Any]:
        return {"params": frozen, "lora": trained} if self.strategy.lora else {"params": trained}

    def _loss(self, trained: Any, frozen: Any, tokens: Array) -> Array:
        return loss_of(self.model.apply(self._variables(trained, frozen), tokens), tokens)

    def _step(self, trained: Any, moments: Any, frozen: Any, tokens: Array) -> tuple[Any, Any, Array]:
        loss, gradients = jax.value_and_grad(self._loss)(trained, frozen, tokens)
        if self.strategy.offload:
            moments = jax.device_put(moments, placed(moments, "device"))
        updates, moments = self.optimizer.update(gradients, moments, trained)
        return optax.apply_updates(trained, updates), moments, loss

    def variables(self, state: State) -> dict[str, Any]:
        """What the model is applied with."""
        return self._variables(state["trained"], state["frozen"])

    def train(self, state: State, tokens: Array) -> tuple[State, Array]:
        """One step; the state given is used up."""
        trained, moments, loss = self.step(state["trained"], state["moments"], state["frozen"], tokens)
        return {"trained": trained, "moments": moments, "frozen": state["frozen"]}, loss

    def evaluate(self, state: State, tokens: Array) -> Array:
        """The loss, nothing trained."""
        return self.loss(state["trained"], state["frozen"], tokens)
