"""Fills a budget of device memory with arrays, frees every other one, and asks for one array as large as half of what
was freed. A plain allocator has the bytes but only in holes; gmlake_jax stitches the holes together.

    gmlake run examples/fill_the_holes.py            # fits
    gmlake run --stock examples/fill_the_holes.py    # JAX's own allocator: out of memory

The exit code is 0 if the large array fits and every byte of every array is right, 3 if memory ran out.
"""
