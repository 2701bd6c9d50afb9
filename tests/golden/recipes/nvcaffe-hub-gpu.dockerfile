FROM nvcr.io/nvidia/caffe:20.03-py3
# nvcaffe 0.17.3, hub, for GPUs of NVIDIA
# unverified: not built since Caffe ended in 2018, and its packages and tags may be gone
# unpinned: the base image nvcr.io/nvidia/caffe:20.03-py3 has no digest, its owner may replace it

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=7.5 \
    modak.compute_capability_min=6.0 \
    modak.framework=nvcaffe \
    modak.source=hub \
    modak.verified=no \
    modak.version=0.17.3
