FROM rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21
# tensorflow 2.21.0 (asked for: 2.21), hub, for GPUs of AMD
# unpinned: the base image rocm/tensorflow:rocm7.14.1-ubuntu24.04-py3.12-tf2.21 has no digest, its owner may replace it

LABEL modak.accelerator=amd \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.rocm=7.14.1 \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.21.0
