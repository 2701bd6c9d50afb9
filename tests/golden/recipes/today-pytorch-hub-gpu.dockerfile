FROM pytorch/pytorch:2.15.0-cuda13.0-cudnn9-runtime
# pytorch 2.15.0 (asked for: 2.15), hub, for GPUs of NVIDIA
# unpinned: the base image pytorch/pytorch:2.15.0-cuda13.0-cudnn9-runtime has no digest, its owner may replace it

LABEL modak.accelerator=nvidia \
    modak.compilers=inductor,jit \
    modak.compute_capability_max=12.1 \
    modak.compute_capability_min=7.5 \
    modak.cuda=13.0 \
    modak.framework=pytorch \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.15.0
