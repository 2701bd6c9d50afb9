FROM nvidia/cuda:13.0.2-cudnn-devel-ubuntu24.04
# pytorch 2.15.0 (asked for: 2.15), opt-build, for GPUs of NVIDIA, compiled for zen4
# unpinned: the base image nvidia/cuda:13.0.2-cudnn-devel-ubuntu24.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: requirements.txt ninja cmake==3.28.4
# unpinned: wheels without checksums here: dependencies of what was built

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
    printf '%s\n' 'pip==25.3 --hash=sha256:9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd' \
        'setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN git clone --depth 1 --branch v2.15.0 --recursive --shallow-submodules https://github.com/pytorch/pytorch.git /var/tmp/pytorch && \
    test "$(git -C /var/tmp/pytorch rev-parse HEAD)" = d0f2af8b66b20da4baa50644c0cd3f887a2eae2e && \
    cd /var/tmp/pytorch && \
    pip3 install --no-cache-dir --requirement requirements.txt ninja cmake==3.28.4 && \
    env PYTORCH_BUILD_VERSION=2.15.0 PYTORCH_BUILD_NUMBER=1 BUILD_TEST=0 USE_CUDA=1 TORCH_CUDA_ARCH_LIST=9.0 CFLAGS="-march=znver4 -mtune=znver4" CXXFLAGS="-march=znver4 -mtune=znver4" pip3 install --no-cache-dir --no-build-isolation --verbose . && \
    cd / && \
    rm -rf /var/tmp/pytorch

LABEL modak.accelerator=nvidia \
    modak.compilers=inductor,jit \
    modak.compute_capability_max=9.9 \
    modak.compute_capability_min=9.0 \
    modak.cuda=13.0 \
    modak.framework=pytorch \
    modak.microarchitecture=zen4 \
    modak.python=3.12 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.15.0
