"""benchmarks/models: the models have their true sizes and train, and a situation is judged by its holes. On a CPU."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
pytest.importorskip("flax", reason="the models are written in flax; pip install flax optax")

from benchmarks.models import model, situations, strategies, workload
from benchmarks.models.configurations import CONFIGURATIONS, find
from benchmarks.models.situations import NAMES, stage


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Tiny models: compiling is all that takes time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def exact(monkeypatch):
    """In float32, so that two ways to compute the same differ by nothing but the order of sums."""
    monkeypatch.setattr(model, "TYPE", jnp.float32)


# --- models


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_model_has_its_published_size(name):
    c = CONFIGURATIONS[name]
    assert model.parameter_count(c) == pytest.approx(c.published, rel=0.03)


def trained(name, strategy, steps=5, scanned=True, state=None):
    c = find(f"{name}-tiny")
    trainer = strategies.Trainer(c, strategies.STRATEGIES[strategy], scanned)
    state = state or trainer.init(jax.random.key(0))
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, c.vocabulary, (2, 8)), jnp.int32)
    losses = []
    for _ in range(steps):
        state, loss = trainer.train(state, tokens)
        losses.append(float(loss))
    return losses, state


@pytest.mark.parametrize(
    ("name", "strategy"), [("gpt2-xl", "N"), ("llama-7b", "R"), ("gpt-neox-20b", "LR"), ("glm-10b", "RO")]
)
def test_a_model_learns(name, strategy):
    losses, _ = trained(name, strategy)
    assert losses[-1] < losses[0] < 10


def test_offloaded_moments_live_on_the_host_and_change_no_loss():
    offloaded, state = trained("opt-1.3b", "LRO", steps=2)
    plain, _ = trained("opt-1.3b", "LR", steps=2)
    kinds = {leaf.sharding.memory_kind for leaf in jax.tree.leaves(state["moments"]) if leaf.ndim}
    assert kinds == {"pinned_host"}
    assert offloaded == plain


def test_lora_trains_the_adapters_and_nothing_else():
    c = find("llama-7b-tiny")
    trainer = strategies.Trainer(c, strategies.STRATEGIES["LR"])
    state = trainer.init(jax.random.key(0))
    frozen, adapters = (jax.tree.map(np.asarray, state[name]) for name in ("frozen", "trained"))
    state, _ = trainer.train(state, jnp.zeros((2, 8), jnp.int32))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), frozen, state["frozen"]))
    assert not jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), adapters, state["trained"]))
    assert sum(leaf.size for leaf in jax.tree.leaves(adapters)) < sum(leaf.size for leaf in jax.tree.leaves(frozen)) / 3


def test_unrolled_layers_compute_what_scanned_ones_do(exact):
    c = find("vicuna-13b-tiny")
    scanned, unrolled = (model.Transformer(c, scanned=value) for value in (True, False))
    stacked = jax.jit(model.initial(scanned))(jax.random.key(1))["params"]
    spread = {name: leaf for name, leaf in stacked.items() if name != "layers"}
    for i in range(c.layers):
        spread[f"layers_{i}"] = jax.tree.map(lambda leaf, i=i: leaf[i], stacked["layers"])
    tokens = jnp.arange(16, dtype=jnp.int32).reshape(2, 8)
    one, other = (jax.jit(m.apply)({"params": p}, tokens) for m, p in ((scanned, stacked), (unrolled, spread)))
    np.testing.assert_allclose(np.float32(one), np.float32(other), atol=1e-4)


def test_decoding_with_a_cache_says_what_the_whole_text_says(exact):
    c = find("llama-7b-tiny")
    trainer = strategies.Trainer(c, strategies.STRATEGIES["N"])
    decoder = workload.Decoder(trainer, True, 1, 8)
    variables = {"params": trainer.init(jax.random.key(0))["trained"]}
    tokens, cache = [0], decoder.empty()
    for place in range(5):
        token, cache = decoder.step(variables, cache, jnp.asarray([tokens[-1:]], jnp.int32), jnp.int32(place))
        tokens.append(int(token[0, 0]))
    scores = jax.jit(trainer.model.apply)(variables, jnp.asarray([tokens[:-1]], jnp.int32))
    assert tokens[1:] == jnp.argmax(scores[0], axis=-1).tolist()
    assert len(set(tokens)) > 2, "a text that says something"


def test_a_job_is_the_same_for_the_same_seed():
    lengths = (8, 16)
    assert workload.plan(lengths, 24, 3) == workload.plan(lengths, 24, 3)
    assert workload.plan(lengths, 24, 3) != workload.plan(lengths, 24, 4)
    kinds = [event.kind for event in workload.plan(lengths, 24, 3)]
    assert [kinds.count(kind) for kind in ("train", "evaluate", "read", "sample")] == [24, 3, 2, 2]


@pytest.fixture
def compiled(tmp_path):
    """A function that tells the names of our programs in the compilation cache."""
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    yield lambda: sorted(path.name for path in tmp_path.glob("jit__*-cache"))
    jax.config.update("jax_compilation_cache_dir", None)


def test_a_job_runs_nothing_that_was_not_compiled_ahead(compiled):
    job = workload.Job(find("gpt2-xl-tiny").limited_to([8]), strategies.STRATEGIES["LR"], True, 2)
    job.compile()
    ahead = compiled()
    assert len(ahead) == 5, "initialise, a step, evaluate, an empty cache, decode"
    job.start()
    job.warm_up()
    assert compiled() == ahead


def test_figures_are_those_of_the_steps():
    measured = workload.Measured([(8, 10.0), (8, 12.0), (16, 30.0)], [3.0, 2.0, 1.0])
    figures = measured.figures(batch=4)
    assert figures["step_ms_by_length"] == {"8": 11.0, "16": 30.0}
    assert (figures["step_ms_p50"], figures["step_ms_p99"]) == (12.0, 30.0)
    assert figures["tokens_per_s"] == pytest.approx(4 * 32 / 0.052, rel=1e-4)


# --- situations


def staged(requests):
    made = object.__new__(stage.Stage)
    made.requests = requests
    return made


def test_the_critical_request_is_the_failed_one_or_a_valid_one():
    small, valid, large = ({"request": size, "valid": size == 2} for size in (1, 2, 3))
    assert staged([small, valid, large]).critical(failed=True) is large
    assert staged([small, valid, large]).critical(failed=False) is valid
    assert staged([small, large]).critical(failed=False) is large
    assert staged([]).critical(failed=True) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_situation_can_be_played(name):
    if name == "resume":
        pytest.importorskip("orbax.checkpoint", reason="resume restores with orbax, which comes with flax")
    assert callable(situations.find(name).play)
