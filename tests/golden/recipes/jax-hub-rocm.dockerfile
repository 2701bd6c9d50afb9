FROM rocm/jax:rocm7.14-jax0.10.0-py3.12
# jax 0.10.0, hub, for GPUs of AMD
# unpinned: the base image rocm/jax:rocm7.14-jax0.10.0-py3.12 has no digest, its owner may replace it

LABEL modak.accelerator=amd \
    modak.compilers=xla \
    modak.framework=jax \
    modak.rocm=7.14 \
    modak.source=hub \
    modak.verified=no \
    modak.version=0.10.0
