FROM ubuntu:24.04

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
    /opt/modak/bin/pip3 install --no-cache-dir --upgrade pip==25.3 setuptools==80.9.0 wheel==0.45.1

RUN pip3 install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu "torch==2.13.0"

LABEL modak.accelerator=none \
    modak.compilers=inductor,jit \
    modak.framework=pytorch \
    modak.source=pip \
    modak.verified=no \
    modak.version=2.13.0
