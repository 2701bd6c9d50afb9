FROM nvidia/cuda:12.6.3-devel-ubuntu24.04
# openmpi 5.0.11, opt-build, for GPUs of NVIDIA, compiled for zen4
# unpinned: the base image nvidia/cuda:12.6.3-devel-ubuntu24.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        libfabric-dev \
        libnuma-dev \
        libucx-dev && \
    rm -rf /var/lib/apt/lists/*

# OpenMPI version 5.0.11
RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        bzip2 \
        file \
        hwloc \
        libnuma-dev \
        make \
        openssh-client \
        perl \
        tar \
        wget && \
    rm -rf /var/lib/apt/lists/*
RUN mkdir -p /var/tmp && wget -q -nc -P /var/tmp https://www.open-mpi.org/software/ompi/v5.0/downloads/openmpi-5.0.11.tar.bz2 && \
    echo 'e668a3c4acd50c41dc204c8a6dd98a611e0f26af89cf677577fa9be8a2698003  /var/tmp/openmpi-5.0.11.tar.bz2' | sha256sum --check --strict - && \
    mkdir -p /var/tmp && tar -x -f /var/tmp/openmpi-5.0.11.tar.bz2 -C /var/tmp -j && \
    cd /var/tmp/openmpi-5.0.11 &&  CFLAGS='-O3 -march=znver4 -mtune=znver4' CXXFLAGS='-O3 -march=znver4 -mtune=znver4' ./configure --prefix=/usr/local/openmpi --disable-getpwuid --enable-mpi-fortran=no --enable-prte-prefix-by-default --with-cuda-libdir=/usr/local/cuda/lib64/stubs --with-cuda=/usr/local/cuda --without-verbs && \
    make -j$(nproc) && \
    make -j$(nproc) install && \
    echo "/usr/local/openmpi/lib" >> /etc/ld.so.conf.d/hpccm.conf && ldconfig && \
    rm -rf /var/tmp/openmpi-5.0.11 /var/tmp/openmpi-5.0.11.tar.bz2
ENV PATH=/usr/local/openmpi/bin:$PATH

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=9.0 \
    modak.compute_capability_min=5.0 \
    modak.cuda=12.6 \
    modak.framework=openmpi \
    modak.microarchitecture=zen4 \
    modak.mpi=openmpi \
    modak.mpi_version=5.0.11 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=5.0.11
