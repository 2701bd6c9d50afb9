FROM ubuntu:18.04

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        git \
        python3 \
        python3-dev \
        python3-venv && \
    rm -rf /var/lib/apt/lists/*

# OpenMPI version 4.1.8
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
RUN mkdir -p /var/tmp && wget -q -nc -P /var/tmp https://www.open-mpi.org/software/ompi/v4.1/downloads/openmpi-4.1.8.tar.bz2 && \
    mkdir -p /var/tmp && tar -x -f /var/tmp/openmpi-4.1.8.tar.bz2 -C /var/tmp -j && \
    cd /var/tmp/openmpi-4.1.8 &&   ./configure --prefix=/usr/local/openmpi --disable-getpwuid --enable-mpi-fortran=no --enable-orterun-prefix-by-default --without-cuda --without-verbs && \
    make -j$(nproc) && \
    make -j$(nproc) install && \
    echo "/usr/local/openmpi/lib" >> /etc/ld.so.conf.d/hpccm.conf && ldconfig && \
    rm -rf /var/tmp/openmpi-4.1.8 /var/tmp/openmpi-4.1.8.tar.bz2
ENV PATH=/usr/local/openmpi/bin:$PATH

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==21.3.1 setuptools==59.6.0 wheel==0.37.1

RUN pip3 install --no-cache-dir "tensorflow-cpu==2.1.0" "protobuf<3.20" "h5py<3"

RUN pip3 install --no-cache-dir cmake==3.18.4.post1 && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_TENSORFLOW=1 HOROVOD_CPU_OPERATIONS=MPI pip3 install --no-cache-dir --no-build-isolation horovod==0.21.3

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.distribution=horovod \
    modak.framework=tensorflow \
    modak.mpi=openmpi-4.1.8 \
    modak.source=pip \
    modak.verified=no \
    modak.version=2.1.0
