FROM nvidia/cuda:12.6.3-devel-ubuntu24.04
# mpich 5.0.2, opt-build, for GPUs of NVIDIA, compiled for zen4
# unpinned: the base image nvidia/cuda:12.6.3-devel-ubuntu24.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        libfabric-dev \
        libnuma-dev \
        libucx-dev \
        python3 && \
    rm -rf /var/lib/apt/lists/*

# MPICH version 5.0.2
RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        file \
        gzip \
        make \
        openssh-client \
        perl \
        tar \
        wget && \
    rm -rf /var/lib/apt/lists/*
RUN mkdir -p /var/tmp && wget -q -nc -P /var/tmp https://www.mpich.org/static/downloads/5.0.2/mpich-5.0.2.tar.gz && \
    echo '928c2f18d350a91443fe8024ad01ce2c6009e9c551e0a73e797fc567f119137d  /var/tmp/mpich-5.0.2.tar.gz' | sha256sum --check --strict - && \
    mkdir -p /var/tmp && tar -x -f /var/tmp/mpich-5.0.2.tar.gz -C /var/tmp -z && \
    cd /var/tmp/mpich-5.0.2 &&  CFLAGS='-O3 -march=znver4 -mtune=znver4' CXXFLAGS='-O3 -march=znver4 -mtune=znver4' ./configure --prefix=/usr/local/mpich --disable-fortran --with-cuda=/usr/local/cuda && \
    make -j$(nproc) && \
    make -j$(nproc) install && \
    echo "/usr/local/mpich/lib" >> /etc/ld.so.conf.d/hpccm.conf && ldconfig && \
    rm -rf /var/tmp/mpich-5.0.2 /var/tmp/mpich-5.0.2.tar.gz
ENV PATH=/usr/local/mpich/bin:$PATH

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=9.0 \
    modak.compute_capability_min=5.0 \
    modak.cuda=12.6 \
    modak.framework=mpich \
    modak.microarchitecture=zen4 \
    modak.mpi=mpich \
    modak.mpi_version=5.0.2 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=5.0.2
