FROM rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0
# pytorch 2.10.0 (asked for: 2.10), hub, for GPUs of AMD
# unpinned: the base image rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0 has no digest, its owner may replace it

LABEL modak.accelerator=amd \
    modak.compilers=inductor,jit \
    modak.framework=pytorch \
    modak.rocm=7.2.4 \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.10.0
