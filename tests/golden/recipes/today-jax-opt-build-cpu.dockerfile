FROM ubuntu:24.04
# jax 0.10.2, opt-build, for processors, compiled for zen4
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
        lld-18 \
        patchelf \
        python3 \
        python3-dev \
        python3-venv \
        unzip && \
    rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/modak/bin:$PATH \
    PYTHONNOUSERSITE=1

RUN python3 -m venv /opt/modak && \
    printf '%s\n' 'pip==25.3 --hash=sha256:9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd' \
        'setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN curl --proto =https --proto-redir =https --max-redirs 3 --tlsv1.2 --fail --location --silent --show-error --output /var/tmp/jax.tar.gz https://github.com/jax-ml/jax/archive/refs/tags/jax-v0.10.2.tar.gz && \
    echo 'fa7214ab31ed1cd418b4305807e9c4f3f175c783eeea40c28e0f77c3f4c24bc7  /var/tmp/jax.tar.gz' | sha256sum --check --strict - && \
    mkdir -p /var/tmp/jax && \
    tar -x -f /var/tmp/jax.tar.gz -C /var/tmp/jax --strip-components=1 && \
    cd /var/tmp/jax && \
    python3 build/build.py build --wheels=jaxlib --clang_path=/usr/lib/llvm-18/bin/clang --python_version=3.12 --bazel_options=--copt=-march=znver4 --bazel_options=--copt=-mtune=znver4 && \
    pip3 install --no-cache-dir dist/*.whl . && \
    cd / && \
    rm -rf /var/tmp/jax /var/tmp/jax.tar.gz /root/.cache/bazel

LABEL modak.accelerator=none \
    modak.compilers=xla \
    modak.framework=jax \
    modak.microarchitecture=zen4 \
    modak.python=3.12 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=0.10.2
