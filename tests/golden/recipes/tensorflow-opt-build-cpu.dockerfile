FROM ubuntu:18.04
# tensorflow 2.1.0 (asked for: 2.1), opt-build, for processors, compiled for broadwell
# unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone
# unpinned: the base image ubuntu:18.04 is named by its tag, since Charliecloud reads no digests; sha256:152dc042452c496007f07ca9127571cb9c29697f42acbfad72324b2bb2e43c98 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: bazel-0.27.1-linux-x86_64 has no checksum here
# unpinned: wheels without checksums here: numpy<1.19 protobuf<3.20 six mock packaging requests
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
    printf '%s\n' 'pip==21.3.1 --hash=sha256:deaf32dcd9ab821e359cd8330786bcd077604b5c5730c0b096eda46f95c24a2d' \
        'setuptools==59.6.0 --hash=sha256:4ce92f1e1f8f01233ee9952c04f6b81d1e02939d6e1b488428154974a4d0783e' \
        'wheel==0.37.1 --hash=sha256:4bdcd7d840138086126cd09254dc6195fb4fc6f01c050a1d7236f2630db1d22a' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /usr/local/bin/bazel https://github.com/bazelbuild/bazel/releases/download/0.27.1/bazel-0.27.1-linux-x86_64 && \
    chmod 0755 /usr/local/bin/bazel && \
    curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /var/tmp/tensorflow.tar.gz https://github.com/tensorflow/tensorflow/archive/refs/tags/v2.1.0.tar.gz && \
    echo '638e541a4981f52c69da4a311815f1e7989bf1d67a41d204511966e1daed14f7  /var/tmp/tensorflow.tar.gz' | sha256sum --check --strict - && \
    mkdir -p /var/tmp/tensorflow && \
    tar -x -f /var/tmp/tensorflow.tar.gz -C /var/tmp/tensorflow --strip-components=1 && \
    cd /var/tmp/tensorflow && \
    pip3 install --no-cache-dir "numpy<1.19" "protobuf<3.20" six mock packaging requests && \
    pip3 install --no-cache-dir --no-deps keras_applications==1.0.8 keras_preprocessing==1.1.2 && \
    yes '' | env PYTHON_BIN_PATH=/opt/modak/bin/python3 USE_DEFAULT_PYTHON_LIB_PATH=1 TF_ENABLE_XLA=1 TF_NEED_ROCM=0 TF_NEED_TENSORRT=0 TF_NEED_MPI=0 TF_SET_ANDROID_WORKSPACE=0 TF_NEED_CUDA=0 ./configure && \
    bazel build --config=opt --copt=-march=broadwell --copt=-mtune=broadwell --config=mkl //tensorflow/tools/pip_package:build_pip_package && \
    ./bazel-bin/tensorflow/tools/pip_package/build_pip_package /var/tmp/wheel && \
    pip3 install --no-cache-dir /var/tmp/wheel/*.whl && \
    cd / && \
    rm -rf /var/tmp/tensorflow /var/tmp/tensorflow.tar.gz /var/tmp/wheel /root/.cache/bazel /usr/local/bin/bazel

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.framework=tensorflow \
    modak.microarchitecture=broadwell \
    modak.python=3.6 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=2.1.0
