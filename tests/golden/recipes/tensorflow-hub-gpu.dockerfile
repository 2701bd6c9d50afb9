FROM tensorflow/tensorflow:2.1.0-gpu-py3
# tensorflow 2.1.0 (asked for: 2.1), hub, for GPUs of NVIDIA
# unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone
# unpinned: the base image tensorflow/tensorflow:2.1.0-gpu-py3 has no digest, its owner may replace it

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.compute_capability_max=7.5 \
    modak.compute_capability_min=3.5 \
    modak.cuda=10.1 \
    modak.framework=tensorflow \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.1.0
