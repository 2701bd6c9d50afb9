FROM nvidia/cuda:13.0.2-devel-ubuntu24.04
# openmpi 4.1.6, hub, for GPUs of NVIDIA
# the distribution's MPI knows nothing of GPUs: a program copies its buffers to and from the host itself
# unpinned: the base image nvidia/cuda:13.0.2-devel-ubuntu24.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        libopenmpi-dev \
        openmpi-bin && \
    rm -rf /var/lib/apt/lists/*

LABEL modak.accelerator=nvidia \
    modak.framework=openmpi \
    modak.mpi=openmpi \
    modak.mpi_version=4.1.6 \
    modak.source=hub \
    modak.verified=no \
    modak.version=4.1.6
