FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04
# mxnet 1.6.0 (asked for: 1.6), pip, for GPUs of NVIDIA, with horovod, mpich 4.2.3
# unverified: not built since MXNet was retired in 2023
# unpinned: the base image nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: mxnet-cu101==1.6.0.post0
# unpinned: wheels without checksums here: horovod==0.19.5

RUN rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list

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
    echo '7a019180c51d1738ad9c5d8d452314de65e828ee240bcb2d1f80de9a65be88a8  /var/tmp/mpich-4.2.3.tar.gz' | sha256sum --check --strict - && \
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
    printf '%s\n' 'pip==21.3.1 --hash=sha256:deaf32dcd9ab821e359cd8330786bcd077604b5c5730c0b096eda46f95c24a2d' \
        'setuptools==59.6.0 --hash=sha256:4ce92f1e1f8f01233ee9952c04f6b81d1e02939d6e1b488428154974a4d0783e' \
        'wheel==0.37.1 --hash=sha256:4bdcd7d840138086126cd09254dc6195fb4fc6f01c050a1d7236f2630db1d22a' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN pip3 install --no-cache-dir "mxnet-cu101==1.6.0.post0"

RUN printf '%s\n' 'cmake==3.18.4.post1 --hash=sha256:34f7ee67cef21b178a793fe760c979608d4ac66a1697cae6b382dbcc5d1ec485' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_MXNET=1 HOROVOD_GPU_OPERATIONS=NCCL pip3 install --no-cache-dir --no-build-isolation horovod==0.19.5

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=7.5 \
    modak.compute_capability_min=3.5 \
    modak.cuda=10.1 \
    modak.distribution=horovod \
    modak.framework=mxnet \
    modak.mpi=mpich \
    modak.mpi_version=4.2.3 \
    modak.python=3.6 \
    modak.source=pip \
    modak.verified=no \
    modak.version=1.6.0
