"""Work on data and on grids: sampled graphs, levels of a grid, populations of models, buffers of experience."""

from __future__ import annotations

from .job import GIB, MIB, Job


def graphs(job: Job) -> None:
    """Each batch samples a neighbourhood, as large as it happens to be."""
    job.take_all([2_400_000 * 512, 62_000_000 * 8, 2_400_001 * 8] + [256 * 256 * 4] * 24)
    for _ in range(150):
        nodes = [1024]
        for fan in (15, 10, 5):
            nodes.append(int(nodes[-1] * fan * job.random.uniform(0.35, 0.8)))
        indices = job.take_all([count * 8 for count in nodes] + [count * 16 for count in nodes[1:]])
        job.wait(1500)
        saved = [job.take(nodes[-1] * 512)]
        for inner, outer in zip(nodes[-2::-1], nodes[::-1], strict=False):
            saved += job.take_all([outer * 1024, inner * 1024, inner * 1024, inner * 256])
            job.compute(moved=outer * 2048)
        job.unwind(saved, 1)
        job.free(*indices)


def multigrid(job: Job) -> None:
    """A solver on cubes of halved sides; now and then it keeps a few more vectors of the finest."""
    sides = [416 >> level for level in range(6)]
    job.take_all([side**3 * 8 for side in sides for _ in range(4)])
    for _ in range(60):
        for side in sides + sides[::-1]:
            names = job.take_all([side**3 * 8, (side + 2) ** 3 * 8])
            job.compute(moved=side**3 * 64)
            job.free(*names)
        if job.random.random() < 0.2:
            vectors = job.take_all([sides[0] ** 3 * 8] * job.random.randrange(1, 6))
            job.compute(moved=1e10)
            job.free(*vectors)


def member(job: Job) -> list[int]:
    """A model of any width and depth, with its states."""
    width = job.random.randrange(256, 2048, 64)
    depth = job.random.randrange(6, 20)
    return job.take_all([width * width * 4 * factor for factor in (3, 1, 4, 4)] * depth)


def population(job: Job) -> None:
    """Sixteen models of different shapes; one after another is replaced."""
    members = [member(job) for _ in range(16)]
    for _ in range(150):
        which = job.random.randrange(16)
        child = member(job)
        job.wait(2e4)
        job.free(*members[which])
        members[which] = child
        job.temporary(job.random.uniform(0.05, 1.5) * GIB, flops=1e13)


def experience(job: Job) -> None:
    """Games of any length kept in a ring of 10 GiB, and batches drawn from it."""
    ring: list[list[int]] = []
    held = 0
    for game in range(2500):
        steps = int(job.random.expovariate(1 / 300)) + 5
        ring.append(job.take_all([steps * 84 * 84 * 4, steps * 4, steps * 512 * 4]))
        held += steps * 84 * 84 * 4
        while held > 10 * GIB:
            held -= job.size(ring[0][0])
            job.free(*ring.pop(0))
        if game % 4 == 0:
            batch = job.take(256 * 84 * 84 * 16)
            job.temporary(256 * 64 * 400 * 4, flops=2e11)
            job.free(batch)
        job.wait(2500)


def slab_beside_residents(job: Job) -> None:
    """Sixty residents of 20 to 300 MiB, a few replaced at a time; then one request for all that is left."""

    def resident() -> int:
        return job.take(job.random.uniform(20, 300) * MIB)

    residents = [resident() for _ in range(60)]
    for _ in range(120):
        for _ in range(3):
            which = job.random.randrange(len(residents))
            job.free(residents[which])
            residents[which] = resident()
        slab = job.take(job.random.uniform(0.97, 1.0) * 14 * GIB)
        job.wait(3e4)
        job.free(slab)


KINDS = {
    "sampled-graphs": graphs,
    "multigrid": multigrid,
    "population": population,
    "experience": experience,
    "slab-beside-residents": slab_beside_residents,
}
