"""The eight models at their true size, and the batch that each strategy trains them with.

The shapes are those of the published checkpoints, so that the parameter counts agree (a test holds 3 %). Everything is
bfloat16: parameters, gradients and both moments of Adam, which is eight bytes a parameter under N and R. That is the
choice that lets a model of 13 billion parameters train without LoRA on one device of 141 GB; with moments in float32 it
would take twelve. Adam's second decay is 0.95, so that eight bits of mantissa can follow the second moment.

The batches are estimates that leave a tenth of the device free at the longest sequence: state, activations with
the attention's scores in full, logits in float32. `largest` looks for the true bound.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Configuration:
    """The shape of one model. `batch`: sequences a step under each strategy; a strategy without one is impossible."""

    name: str
    published: float  # parameters
    layers: int
    width: int
    heads: int
    ffn: int
    vocabulary: int
    context: int = 2048
    norm: str = "layer"  # or rms
    mlp: str = "gelu"  # or relu, swiglu
    positions: str = "learned"  # or rotary
    rotary_share: float = 1.0  # of each head
    parallel: bool = False  # attention and perceptron read the same input
    tied: bool = True  # the output layer is the embedding
    bias: bool = True
    position_tables: int = 1
    batch: dict[str, int] = field(default_factory=dict, hash=False)
    lengths: tuple[int, ...] = (256, 512, 768, 1024)

    @property
    def head(self) -> int:
        """Width of one head."""
        return self.width // self.heads

    def limited_to(self, lengths: list[int] | None) -> Configuration:
        """The same model with other lengths of sequences; its own where none are given."""
        return dataclasses.replace(self, lengths=tuple(lengths)) if lengths else self

    def tiny(self) -> Configuration:
        """The same architecture, small enough to compile and train on one core in seconds."""
        heads, width = 4, 32
        return dataclasses.replace(
            self,
            name=self.name + "-tiny",
            layers=2,
            width=width,
            heads=heads,
            ffn=width * self.ffn // self.width,
            vocabulary=64,
            context=64,
            batch=dict.fromkeys(self.batch, 2),
            lengths=(8, 16),
        )


STRATEGY_NAMES = ("N", "R", "LR", "RO", "LRO")
_LLAMA = {"vocabulary": 32000, "norm": "rms", "mlp": "swiglu", "positions": "rotary", "tied": False, "bias": False}

CONFIGURATIONS = {
    each.name: each
    for each in (
        Configuration(
            "gpt2-xl",
            1_557_611_200,
            layers=48,
            width=1600,
            heads=25,
            ffn=6400,
            vocabulary=50257,
            context=1024,
            batch={"N": 4, "R": 16, "LR": 16, "RO": 16, "LRO": 16},
        ),
        Configuration(
            "opt-1.3b",
            1_315_758_080,
            layers=24,
            width=2048,
            heads=32,
            ffn=8192,
            vocabulary=50272,
            mlp="relu",
            batch={"N": 4, "R": 16, "LR": 16, "RO": 16, "LRO": 16},
        ),
        Configuration(
            "opt-6.7b",
            6_658_473_984,
            layers=32,
            width=4096,
            heads=32,
            ffn=16384,
            vocabulary=50272,
            mlp="relu",
            batch={"N": 2, "R": 16, "LR": 16, "RO": 16, "LRO": 16},
        ),
        Configuration(
            "opt-13b",
            12_853_473_280,
            layers=40,
            width=5120,
            heads=40,
            ffn=20480,
            vocabulary=50272,
            mlp="relu",
            batch={"N": 1, "R": 4, "LR": 8, "RO": 4, "LRO": 8},
        ),
        Configuration(
            "llama-7b",
            6_738_415_616,
            layers=32,
            width=4096,
            heads=32,
            ffn=11008,
            batch={"N": 2, "R": 16, "LR": 16, "RO": 16, "LRO": 16},
            **_LLAMA,
        ),
        Configuration(
            "vicuna-13b",
            13_015_864_320,
            layers=40,
            width=5120,
            heads=40,
            ffn=13824,
            batch={"N": 1, "R": 4, "LR": 8, "RO": 4, "LRO": 8},
            **_LLAMA,
        ),
        Configuration(
            "glm-10b",
            10_000_000_000,  # the name says no more
            layers=48,
            width=4096,
            heads=64,
            ffn=16384,
            vocabulary=50304,
            context=1024,
            position_tables=2,
            batch={"N": 1, "R": 8, "LR": 8, "RO": 8, "LRO": 8},
        ),
        Configuration(
            "gpt-neox-20b",
            20_554_567_680,
            layers=44,
            width=6144,
            heads=64,
            ffn=24576,
            vocabulary=50432,
            positions="rotary",
            rotary_share=0.25,
            parallel=True,
            tied=False,
            batch={"LR": 8, "LRO": 8},
        ),
    )
}

# Why a model has no batch for a strategy.
IMPOSSIBLE = {
    ("gpt-neox-20b", "N"): "parameters, gradients and moments are 164 GB; the device has 141",
    ("gpt-neox-20b", "R"): "parameters, gradients and moments are 164 GB; the device has 141",
    ("gpt-neox-20b", "RO"): "the moments are 82 GB in page-locked host memory; a machine of 128 GiB swaps or refuses",
}


def find(name: str) -> Configuration:
    """A model by its name; `-tiny` after the name gives the tiny variant."""
    base = name.removesuffix("-tiny")
    if base not in CONFIGURATIONS:
        raise SystemExit(f"{name}: no such model; there are {', '.join(CONFIGURATIONS)}, each also with -tiny")
    found = CONFIGURATIONS[base]
    return found.tiny() if name.endswith("-tiny") else found


def impossible(name: str, strategy: str) -> str | None:
    """Why this cell cannot run on one device of 141 GB, or None where it can."""
    return IMPOSSIBLE.get((name.removesuffix("-tiny"), strategy))
