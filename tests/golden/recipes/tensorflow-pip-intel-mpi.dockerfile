FROM ubuntu:20.04

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        git \
        python3 \
        python3-dev \
        python3-venv && \
    rm -rf /var/lib/apt/lists/*

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        curl && \
    rm -rf /var/lib/apt/lists/*

RUN mkdir -p /etc/apt/keyrings && \
    curl --proto =https --fail --silent --show-error --output /etc/apt/keyrings/oneapi.asc https://apt.repos.intel.com/intel-gpg-keys/GPG-PUB-KEY-INTEL-SW-PRODUCTS.PUB && \
    echo 'deb [signed-by=/etc/apt/keyrings/oneapi.asc] https://apt.repos.intel.com/oneapi all main' > /etc/apt/sources.list.d/oneapi.list

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        intel-oneapi-mpi-devel-2021.14 && \
    rm -rf /var/lib/apt/lists/*

RUN echo /opt/intel/oneapi/mpi/2021.14/lib > /etc/ld.so.conf.d/intel-mpi.conf && \
    ldconfig

ENV I_MPI_ROOT=/opt/intel/oneapi/mpi/2021.14 \
    PATH=/opt/intel/oneapi/mpi/2021.14/bin:$PATH

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==25.0.1 setuptools==75.3.0 wheel==0.45.1

RUN pip3 install --no-cache-dir "tensorflow-cpu==2.11.0"

RUN pip3 install --no-cache-dir cmake==3.18.4.post1 && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_TENSORFLOW=1 HOROVOD_CPU_OPERATIONS=MPI pip3 install --no-cache-dir --no-build-isolation horovod==0.28.1

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.distribution=horovod \
    modak.framework=tensorflow \
    modak.mpi=intel-mpi-2021.14 \
    modak.source=pip \
    modak.verified=no \
    modak.version=2.11.0
