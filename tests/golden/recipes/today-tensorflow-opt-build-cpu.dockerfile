FROM ubuntu:24.04
# tensorflow 2.21.0 (asked for: 2.21), opt-build, for processors, compiled for zen4
# unpinned: the base image ubuntu:24.04 is named by its tag, since Charliecloud reads no digests; sha256:d1e2e92c075e5ca139d51a140fff46f84315c0fdce203eab2807c7e495eff4f9 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: dependencies of what was built

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
    printf '%s\n' 'pip==25.3 --hash=sha256:9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd' \
        'setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /usr/local/bin/bazel https://github.com/bazelbuild/bazel/releases/download/7.4.1/bazel-7.4.1-linux-x86_64 && \
    echo 'c97f02133adce63f0c28678ac1f21d65fa8255c80429b588aeeba8a1fac6202b  /usr/local/bin/bazel' | sha256sum --check --strict - && \
    chmod 0755 /usr/local/bin/bazel && \
    curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /var/tmp/tensorflow.tar.gz https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.21.0.tar.gz && \
    echo 'ef3568bb4865d6c1b2564fb5689c19b6b9a5311572cd1f2ff9198636a8520921  /var/tmp/tensorflow.tar.gz' | sha256sum --check --strict - && \
    mkdir -p /var/tmp/tensorflow && \
    tar -x -f /var/tmp/tensorflow.tar.gz -C /var/tmp/tensorflow --strip-components=1 && \
    cd /var/tmp/tensorflow && \
    yes '' | env PYTHON_BIN_PATH=/opt/modak/bin/python3 USE_DEFAULT_PYTHON_LIB_PATH=1 TF_NEED_ROCM=0 TF_NEED_CLANG=1 CLANG_COMPILER_PATH=/usr/lib/llvm-18/bin/clang TF_SET_ANDROID_WORKSPACE=0 TF_NEED_CUDA=0 ./configure && \
    bazel build --config=opt --repo_env=HERMETIC_PYTHON_VERSION=3.12 --copt=-march=znver4 --copt=-mtune=znver4 --repo_env=WHEEL_NAME=tensorflow_cpu //tensorflow/tools/pip_package:wheel && \
    pip3 install --no-cache-dir bazel-bin/tensorflow/tools/pip_package/wheel_house/*.whl && \
    cd / && \
    rm -rf /var/tmp/tensorflow /var/tmp/tensorflow.tar.gz /var/tmp/wheel /root/.cache/bazel /usr/local/bin/bazel

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.microarchitecture=zen4 \
    modak.python=3.12 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.21.0
