FROM tensorflow/tensorflow:2.21.0-gpu
# tensorflow 2.21.0 (asked for: 2.21), hub, for GPUs of NVIDIA
# unpinned: the base image tensorflow/tensorflow:2.21.0-gpu has no digest, its owner may replace it

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.compute_capability_max=9.0 \
    modak.compute_capability_min=6.0 \
    modak.framework=tensorflow \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.21.0
