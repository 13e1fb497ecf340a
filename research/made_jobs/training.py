"""Training, operation by operation: any length, batches in flight, experts, states cast for a copy."""

from __future__ import annotations

from .decoder import GPT_2_7B, GPT_125M, GPT_350M, Decoder, Trainer
from .job import Job


def train(trainer: Trainer, steps: int, batch: int, longest: int) -> None:
    """A length drawn for each batch."""
    for _ in range(steps):
        trainer.step(batch, trainer.job.length(longest))


def any_length(job: Job) -> None:
    """Activations kept."""
    train(Trainer(job, GPT_125M), steps=30, batch=8, longest=1024)


def recomputed(job: Job) -> None:
    """Activations computed again."""
    train(Trainer(job, GPT_2_7B, recompute=True), steps=10, batch=4, longest=2048)


def native_resolution(job: Job) -> None:
    """Pictures as they are, twelve in one sequence."""
    trainer = Trainer(job, Decoder(dim=1280, layers=32, heads=16, vocab=1000, state=4))
    for _ in range(12):
        sides = [(job.random.randrange(14, 40), job.random.randrange(14, 40)) for _ in range(12)]
        trainer.step(1, sum(height * width for height, width in sides))


def checkpointed(job: Job) -> None:
    """Every fourth step all states are cast, and staged in flat buffers on their way to the host."""
    trainer = Trainer(job, GPT_350M, recompute=True)
    for step in range(16):
        trainer.step(16, job.length(1024))
        if step % 4 == 3:
            copy_to_host(job, [*trainer.parameters, *trainer.states])


def copy_to_host(job: Job, names: list[int], at_a_time: int = 25) -> None:
    for first in range(0, len(names), at_a_time):
        cast = job.take_all([job.size(name) // 2 for name in names[first : first + at_a_time]])
        flat = job.take(sum(map(job.size, cast)))
        job.wait(job.size(flat) / 5e4)
        job.free(*cast, flat)


def pipelined(job: Job) -> None:
    """One stage of a pipeline: up to four batches in flight, each of its own length."""
    trainer = Trainer(job, Decoder(dim=4096, layers=8, heads=32, vocab=32000), keeps_gradients=False)
    for _ in range(6):
        flight = []
        for batch in range(12):
            if batch < 8:
                tokens = 2 * job.length(2048)
                flight.append((tokens, *trainer.forward_all(tokens)))
            if batch >= 4:
                tokens, layers, result = flight.pop(0)
                gradient = job.take(tokens * 4096 * 2)
                job.free(result)
                job.free(trainer.backward_all(tokens, layers, gradient))
        trainer.update()


def experts(job: Job) -> None:
    """Each layer sends its tokens to eight experts, as many as it happens to each."""
    dim, inner, count, layers = 2048, 7168, 8, 16
    job.take_all([2 * dim * inner * 2] * count * layers + [12 * dim * dim * 2] * layers)
    for _ in range(12):
        tokens = 4 * job.length(2048)
        saved = [job.take(tokens * dim * 2)]
        for _ in range(layers):
            saved += job.take_all([tokens * size for size in (3 * dim * 2, dim * 2, count * 4)])
            job.compute(flops=8 * tokens * dim * dim)
            weights = [job.random.gammavariate(2, 1) for _ in range(count)]
            for weight in weights:
                routed = int(2 * tokens * weight / sum(weights))
                saved += job.take_all([routed * size for size in (8, dim * 2, inner * 2, inner * 2, dim * 2)])
                job.compute(flops=6 * routed * dim * inner)
            saved.append(job.take(tokens * dim * 2))
        job.unwind(saved, dim)


def in_turn(job: Job) -> None:
    """One model after the other, each given up before the next."""
    third = Decoder(dim=1536, layers=20, heads=16, vocab=32000, width=4, state=4)
    for model in (GPT_125M, GPT_350M, third) * 3:
        trainer = Trainer(job, model)
        for _ in range(3):
            trainer.step(8, job.random.choice([512, 1024]))
        trainer.close()


KINDS = {
    "train-any-length": any_length,
    "train-recomputed": recomputed,
    "train-native-resolution": native_resolution,
    "train-checkpointed": checkpointed,
    "train-pipelined": pipelined,
    "train-experts": experts,
    "train-in-turn": in_turn,
}
