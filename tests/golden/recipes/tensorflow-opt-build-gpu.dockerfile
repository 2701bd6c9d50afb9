FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        curl \
        git \
        patch \
        python3 \
        python3-dev \
        python3-venv \
        unzip \
        zip && \
    rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==21.3.1 setuptools==59.6.0 wheel==0.37.1

RUN curl --proto =https --proto-redir =https --fail --silent --show-error --location --output /usr/local/bin/bazel https://github.com/bazelbuild/bazel/releases/download/0.27.1/bazel-0.27.1-linux-x86_64 && \
    chmod 0755 /usr/local/bin/bazel && \
    git clone --depth 1 --branch v2.1.0 https://github.com/tensorflow/tensorflow.git /var/tmp/tensorflow && \
    cd /var/tmp/tensorflow && \
    pip3 install --no-cache-dir "numpy<1.19" "protobuf<3.20" six mock packaging requests && \
    pip3 install --no-cache-dir --no-deps keras_applications==1.0.8 keras_preprocessing==1.1.2 && \
    yes '' | env PYTHON_BIN_PATH=/opt/modak/bin/python3 USE_DEFAULT_PYTHON_LIB_PATH=1 TF_ENABLE_XLA=1 TF_NEED_ROCM=0 TF_NEED_TENSORRT=0 TF_NEED_MPI=0 TF_SET_ANDROID_WORKSPACE=0 TF_NEED_CUDA=1 TF_CUDA_VERSION=10.1 TF_CUDNN_VERSION=7 TF_CUDA_CLANG=0 GCC_HOST_COMPILER_PATH=/usr/bin/gcc TF_CUDA_COMPUTE_CAPABILITIES=6.1 ./configure && \
    bazel build --config=opt --copt=-march=broadwell --copt=-mtune=broadwell --config=cuda //tensorflow/tools/pip_package:build_pip_package && \
    ./bazel-bin/tensorflow/tools/pip_package/build_pip_package /var/tmp/wheel && \
    pip3 install --no-cache-dir /var/tmp/wheel/*.whl && \
    cd / && \
    rm -rf /var/tmp/tensorflow /var/tmp/wheel /root/.cache/bazel /usr/local/bin/bazel

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.microarchitecture=broadwell \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.1.0
