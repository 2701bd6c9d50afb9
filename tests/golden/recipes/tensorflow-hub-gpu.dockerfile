FROM tensorflow/tensorflow:2.1.0-gpu-py3

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.1.0
