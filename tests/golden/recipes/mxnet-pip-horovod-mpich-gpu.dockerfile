FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        git \
        python3 \
        python3-dev \
        python3-venv && \
    rm -rf /var/lib/apt/lists/*

# MPICH version 4.2.3
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
RUN mkdir -p /var/tmp && wget -q -nc -P /var/tmp https://www.mpich.org/static/downloads/4.2.3/mpich-4.2.3.tar.gz && \
    mkdir -p /var/tmp && tar -x -f /var/tmp/mpich-4.2.3.tar.gz -C /var/tmp -z && \
    cd /var/tmp/mpich-4.2.3 &&   ./configure --prefix=/usr/local/mpich --disable-fortran && \
    make -j$(nproc) && \
    make -j$(nproc) install && \
    echo "/usr/local/mpich/lib" >> /etc/ld.so.conf.d/hpccm.conf && ldconfig && \
    rm -rf /var/tmp/mpich-4.2.3 /var/tmp/mpich-4.2.3.tar.gz
ENV PATH=/usr/local/mpich/bin:$PATH

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==21.3.1 setuptools==59.6.0 wheel==0.37.1

RUN pip3 install --no-cache-dir "mxnet-cu101==1.6.0.post0"

RUN pip3 install --no-cache-dir cmake==3.18.4.post1 && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_MXNET=1 HOROVOD_GPU_OPERATIONS=NCCL pip3 install --no-cache-dir --no-build-isolation horovod==0.19.5

LABEL modak.accelerator=nvidia \
    modak.distribution=horovod \
    modak.framework=mxnet \
    modak.mpi=mpich-4.2.3 \
    modak.source=pip \
    modak.verified=no \
    modak.version=1.6.0
