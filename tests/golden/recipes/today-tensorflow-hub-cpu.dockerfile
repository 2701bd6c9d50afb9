FROM tensorflow/tensorflow:2.21.0
# tensorflow 2.21.0 (asked for: 2.21), hub, for processors
# unpinned: the base image tensorflow/tensorflow:2.21.0 has no digest, its owner may replace it

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.21.0
