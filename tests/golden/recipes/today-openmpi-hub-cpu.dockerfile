FROM ubuntu:24.04
# openmpi 4.1.6, hub, for processors
# unpinned: the base image ubuntu:24.04 is named by its tag, since Charliecloud reads no digests; sha256:d1e2e92c075e5ca139d51a140fff46f84315c0fdce203eab2807c7e495eff4f9 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        libopenmpi-dev \
        openmpi-bin && \
    rm -rf /var/lib/apt/lists/*

LABEL modak.accelerator=none \
    modak.framework=openmpi \
    modak.mpi=openmpi \
    modak.mpi_version=4.1.6 \
    modak.source=hub \
    modak.verified=no \
    modak.version=4.1.6
