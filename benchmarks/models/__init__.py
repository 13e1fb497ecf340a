"""Eight large models, nine situations, seven allocators: what gmlake_jax does for a JAX job. See README.md."""
