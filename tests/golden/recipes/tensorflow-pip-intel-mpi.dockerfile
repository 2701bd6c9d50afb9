FROM ubuntu:20.04
# tensorflow 2.11.0 (asked for: 2.11), pip, for processors, with horovod, intel-mpi 2021.14
# unpinned: the base image ubuntu:20.04 is named by its tag, since Charliecloud reads no digests; sha256:8feb4d8ca5354def3d8fce243717141ce31e2c428701f6682bd2fafe15388214 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: GPG-PUB-KEY-INTEL-SW-PRODUCTS.PUB has no checksum here
# unpinned: wheels without checksums here: tensorflow-cpu==2.11.0
# unpinned: wheels without checksums here: horovod==0.28.1

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
    printf '%s\n' 'pip==25.0.1 --hash=sha256:c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f' \
        'setuptools==75.3.0 --hash=sha256:f2504966861356aa38616760c0f66568e535562374995367b4e69c7143cf6bcd' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN pip3 install --no-cache-dir "tensorflow-cpu==2.11.0"

RUN printf '%s\n' 'cmake==3.18.4.post1 --hash=sha256:34f7ee67cef21b178a793fe760c979608d4ac66a1697cae6b382dbcc5d1ec485' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt && \
    env HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_GLOO=1 HOROVOD_WITH_TENSORFLOW=1 HOROVOD_CPU_OPERATIONS=MPI pip3 install --no-cache-dir --no-build-isolation horovod==0.28.1

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.distribution=horovod \
    modak.framework=tensorflow \
    modak.mpi=intel-mpi \
    modak.mpi_version=2021.14 \
    modak.python=3.8 \
    modak.source=pip \
    modak.verified=no \
    modak.version=2.11.0
