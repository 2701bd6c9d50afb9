FROM pytorch/pytorch:2.15.0-cuda13.0-cudnn9-runtime
# pytorch 2.15.0 (asked for: 2.15), hub, for processors
# unpinned: the base image pytorch/pytorch:2.15.0-cuda13.0-cudnn9-runtime has no digest, its owner may replace it

LABEL modak.accelerator=none \
    modak.compilers=inductor,jit \
    modak.framework=pytorch \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.15.0
