FROM nvcr.io/nvidia/jax:24.10-py3
# jax 0.4.33, hub, for processors
# NVIDIA's image, the newest known one with a released JAX; it runs on processors too
# unpinned: the base image nvcr.io/nvidia/jax:24.10-py3 has no digest, its owner may replace it

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.framework=jax \
    modak.source=hub \
    modak.verified=no \
    modak.version=0.4.33
