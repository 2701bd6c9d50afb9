FROM ubuntu:18.04
# pytorch 1.5.0 (asked for: 1.5), pip, for GPUs of NVIDIA
# unverified: not built since Ubuntu 18.04 ended in 2023, and what it downloads may be gone
# unpinned: the base image ubuntu:18.04 is named by its tag, since Charliecloud reads no digests; sha256:152dc042452c496007f07ca9127571cb9c29697f42acbfad72324b2bb2e43c98 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: wheels without checksums here: https://download.pytorch.org/whl/torch_stable.html torch==1.5.0+cu101

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        git \
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

RUN pip3 install --no-cache-dir --find-links https://download.pytorch.org/whl/torch_stable.html "torch==1.5.0+cu101"

LABEL modak.accelerator=nvidia \
    modak.compilers=jit \
    modak.compute_capability_max=7.5 \
    modak.compute_capability_min=3.7 \
    modak.cuda=10.1 \
    modak.framework=pytorch \
    modak.python=3.6 \
    modak.source=pip \
    modak.verified=no \
    modak.version=1.5.0
