FROM ubuntu:24.04

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        clang-18 \
        curl \
        git \
        lld \
        patch \
        patchelf \
        python3 \
        python3-dev \
        python3-venv \
        unzip \
        zip && \
    rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==25.3 setuptools==80.9.0 wheel==0.45.1

RUN curl --proto =https --proto-redir =https --fail --silent --show-error --location --output /usr/local/bin/bazel https://github.com/bazelbuild/bazel/releases/download/7.4.1/bazel-7.4.1-linux-x86_64 && \
    chmod 0755 /usr/local/bin/bazel && \
    git clone --depth 1 --branch v2.20.0 https://github.com/tensorflow/tensorflow.git /var/tmp/tensorflow && \
    cd /var/tmp/tensorflow && \
    yes '' | env PYTHON_BIN_PATH=/opt/modak/bin/python3 USE_DEFAULT_PYTHON_LIB_PATH=1 TF_NEED_ROCM=0 TF_NEED_CLANG=1 CLANG_COMPILER_PATH=/usr/lib/llvm-18/bin/clang TF_SET_ANDROID_WORKSPACE=0 TF_NEED_CUDA=1 TF_CUDA_CLANG=1 HERMETIC_CUDA_VERSION=12.5.1 HERMETIC_CUDNN_VERSION=9.3.0 HERMETIC_CUDA_COMPUTE_CAPABILITIES=sm_90 ./configure && \
    bazel build --config=opt --repo_env=HERMETIC_PYTHON_VERSION=3.12 --copt=-march=znver4 --copt=-mtune=znver4 --config=cuda --config=cuda_wheel --repo_env=WHEEL_NAME=tensorflow //tensorflow/tools/pip_package:wheel && \
    pip3 install --no-cache-dir "$(ls bazel-bin/tensorflow/tools/pip_package/wheel_house/*.whl)[and-cuda]" && \
    cd / && \
    rm -rf /var/tmp/tensorflow /var/tmp/wheel /root/.cache/bazel /usr/local/bin/bazel

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.microarchitecture=zen4 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.20.0
