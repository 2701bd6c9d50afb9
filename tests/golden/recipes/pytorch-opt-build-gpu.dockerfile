FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04
# pytorch 1.4.0 (asked for: 1.4), opt-build, for GPUs of NVIDIA, compiled for broadwell
# unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone
# unpinned: the base image nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: https://github.com/pytorch/pytorch.git at v1.4.0 has no commit here
# unpinned: wheels without checksums here: requirements.txt ninja cmake==3.18.4.post1

RUN rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        git \
        libopenblas-dev \
        python3 \
        python3-dev \
        python3-venv && \
    rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    printf '%s\n' 'pip==21.3.1 --hash=sha256:deaf32dcd9ab821e359cd8330786bcd077604b5c5730c0b096eda46f95c24a2d' \
        'setuptools==59.6.0 --hash=sha256:4ce92f1e1f8f01233ee9952c04f6b81d1e02939d6e1b488428154974a4d0783e' \
        'wheel==0.37.1 --hash=sha256:4bdcd7d840138086126cd09254dc6195fb4fc6f01c050a1d7236f2630db1d22a' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN git clone --depth 1 --branch v1.4.0 --recursive --shallow-submodules https://github.com/pytorch/pytorch.git /var/tmp/pytorch && \
    cd /var/tmp/pytorch && \
    pip3 install --no-cache-dir --requirement requirements.txt ninja cmake==3.18.4.post1 && \
    env PYTORCH_BUILD_VERSION=1.4.0 PYTORCH_BUILD_NUMBER=1 BUILD_TEST=0 USE_CUDA=1 TORCH_CUDA_ARCH_LIST=6.1 CFLAGS="-march=broadwell -mtune=broadwell" CXXFLAGS="-march=broadwell -mtune=broadwell" python3 setup.py install && \
    cd / && \
    rm -rf /var/tmp/pytorch

LABEL modak.accelerator=nvidia \
    modak.compilers=jit \
    modak.compute_capability_max=6.9 \
    modak.compute_capability_min=6.1 \
    modak.cuda=10.1 \
    modak.framework=pytorch \
    modak.microarchitecture=broadwell \
    modak.python=3.6 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=1.4.0
