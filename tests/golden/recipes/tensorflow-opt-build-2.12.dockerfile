FROM nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04
# tensorflow 2.12.0 (asked for: 2.12), opt-build, for GPUs of NVIDIA, compiled for broadwell
# unpinned: the base image nvidia/cuda:11.8.0-cudnn8-devel-ubuntu22.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: numpy<1.24 protobuf<3.20 six mock packaging requests
# unpinned: wheels without checksums here: keras_applications==1.0.8 keras_preprocessing==1.1.2
# unpinned: wheels without checksums here: dependencies of what was built

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
    printf '%s\n' 'pip==25.3 --hash=sha256:9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd' \
        'setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /usr/local/bin/bazel https://github.com/bazelbuild/bazel/releases/download/5.3.0/bazel-5.3.0-linux-x86_64 && \
    echo '3d144b890b85d95fb13df941bfd010fc3628e9afaa4c85e7d1a002e4fd02b249  /usr/local/bin/bazel' | sha256sum --check --strict - && \
    chmod 0755 /usr/local/bin/bazel && \
    curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /var/tmp/tensorflow.tar.gz https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.12.0.tar.gz && \
    echo 'c030cb1905bff1d2446615992aad8d8d85cbe90c4fb625cee458c63bf466bc8e  /var/tmp/tensorflow.tar.gz' | sha256sum --check --strict - && \
    mkdir -p /var/tmp/tensorflow && \
    tar -x -f /var/tmp/tensorflow.tar.gz -C /var/tmp/tensorflow --strip-components=1 && \
    cd /var/tmp/tensorflow && \
    pip3 install --no-cache-dir "numpy<1.24" "protobuf<3.20" six mock packaging requests && \
    pip3 install --no-cache-dir --no-deps keras_applications==1.0.8 keras_preprocessing==1.1.2 && \
    yes '' | env PYTHON_BIN_PATH=/opt/modak/bin/python3 USE_DEFAULT_PYTHON_LIB_PATH=1 TF_ENABLE_XLA=1 TF_NEED_ROCM=0 TF_NEED_TENSORRT=0 TF_NEED_MPI=0 TF_SET_ANDROID_WORKSPACE=0 TF_NEED_CUDA=1 TF_CUDA_VERSION=11.8 TF_CUDNN_VERSION=8 TF_CUDA_CLANG=0 GCC_HOST_COMPILER_PATH=/usr/bin/gcc TF_CUDA_COMPUTE_CAPABILITIES=6.1 ./configure && \
    bazel build --config=opt --copt=-march=broadwell --copt=-mtune=broadwell --config=cuda //tensorflow/tools/pip_package:build_pip_package && \
    ./bazel-bin/tensorflow/tools/pip_package/build_pip_package /var/tmp/wheel && \
    pip3 install --no-cache-dir /var/tmp/wheel/*.whl && \
    cd / && \
    rm -rf /var/tmp/tensorflow /var/tmp/tensorflow.tar.gz /var/tmp/wheel /root/.cache/bazel /usr/local/bin/bazel

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.compute_capability_max=9.0 \
    modak.compute_capability_min=6.1 \
    modak.cuda=11.8 \
    modak.framework=tensorflow \
    modak.microarchitecture=broadwell \
    modak.python=3.10 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.12.0
