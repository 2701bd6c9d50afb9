FROM ubuntu:18.04
# tensorflow 2.1.0 (asked for: 2.1), pip, for processors, with horovod, openmpi 4.1.8
# unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone
# unpinned: the base image ubuntu:18.04 is named by its tag, since Charliecloud reads no digests; sha256:152dc042452c496007f07ca9127571cb9c29697f42acbfad72324b2bb2e43c98 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: tensorflow-cpu==2.1.0 protobuf<3.20 h5py<3
# unpinned: wheels without checksums here: horovod==0.21.3

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
    echo '466f68e3132a1dc02710cc2011fafced8336d98359fa2dae4dddcfd5719f12a9  /var/tmp/openmpi-4.1.8.tar.bz2' | sha256sum --check --strict - && \
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
    printf '%s\n' 'pip==21.3.1 --hash=sha256:deaf32dcd9ab821e359cd8330786bcd077604b5c5730c0b096eda46f95c24a2d' \
        'setuptools==59.6.0 --hash=sha256:4ce92f1e1f8f01233ee9952c04f6b81d1e02939d6e1b488428154974a4d0783e' \
        'wheel==0.37.1 --hash=sha256:4bdcd7d840138086126cd09254dc6195fb4fc6f01c050a1d7236f2630db1d22a' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN pip3 install --no-cache-dir "tensorflow-cpu==2.1.0" "protobuf<3.20" "h5py<3"

RUN printf '%s\n' 'cmake==3.18.4.post1 --hash=sha256:34f7ee67cef21b178a793fe760c979608d4ac66a1697cae6b382dbcc5d1ec485' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_TENSORFLOW=1 HOROVOD_CPU_OPERATIONS=MPI pip3 install --no-cache-dir --no-build-isolation horovod==0.21.3

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.distribution=horovod \
    modak.framework=tensorflow \
    modak.mpi=openmpi \
    modak.mpi_version=4.1.8 \
    modak.python=3.6 \
    modak.source=pip \
    modak.verified=no \
    modak.version=2.1.0
