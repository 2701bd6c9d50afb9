FROM ubuntu:24.04
# mpich 4.2.0, hub, for processors
# unpinned: the base image ubuntu:24.04 is named by its tag, since Charliecloud reads no digests; sha256:d1e2e92c075e5ca139d51a140fff46f84315c0fdce203eab2807c7e495eff4f9 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        libmpich-dev \
        mpich && \
    rm -rf /var/lib/apt/lists/*

LABEL modak.accelerator=none \
    modak.framework=mpich \
    modak.mpi=mpich \
    modak.mpi_version=4.2.0 \
    modak.source=hub \
    modak.verified=no \
    modak.version=4.2.0
