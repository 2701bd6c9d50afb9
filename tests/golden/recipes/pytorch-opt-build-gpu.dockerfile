FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04

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
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==21.3.1 setuptools==59.6.0 wheel==0.37.1

RUN git clone --recursive --depth 1 --shallow-submodules --branch v1.4.0 https://github.com/pytorch/pytorch.git /var/tmp/pytorch && \
    cd /var/tmp/pytorch && \
    pip3 install --no-cache-dir --requirement requirements.txt ninja cmake==3.18.4.post1 && \
    env PYTORCH_BUILD_VERSION=1.4.0 PYTORCH_BUILD_NUMBER=1 BUILD_TEST=0 USE_CUDA=1 TORCH_CUDA_ARCH_LIST=6.1 CFLAGS="-march=broadwell -mtune=broadwell" CXXFLAGS="-march=broadwell -mtune=broadwell" python3 setup.py install && \
    cd / && \
    rm -rf /var/tmp/pytorch

LABEL modak.accelerator=nvidia \
    modak.compilers=jit \
    modak.framework=pytorch \
    modak.microarchitecture=broadwell \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=1.4.0
