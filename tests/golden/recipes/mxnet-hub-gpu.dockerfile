FROM nvcr.io/nvidia/mxnet:20.03-py3
# mxnet 1.6.0 (asked for: 1.6), hub, for GPUs of NVIDIA
# unverified: not built since MXNet was retired in 2023
# unpinned: the base image nvcr.io/nvidia/mxnet:20.03-py3 has no digest, its owner may replace it

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=7.5 \
    modak.compute_capability_min=3.5 \
    modak.cuda=10.1 \
    modak.framework=mxnet \
    modak.source=hub \
    modak.verified=no \
    modak.version=1.6.0
