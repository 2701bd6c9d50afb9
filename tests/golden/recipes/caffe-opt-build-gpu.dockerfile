FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04
# caffe 1.0, opt-build, for GPUs of NVIDIA, compiled for broadwell
# unverified: not built since Caffe ended in 2018, and its packages and tags may be gone
# unpinned: the base image nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04 has no digest, its owner may replace it
# unpinned: packages of the Linux distribution are those of the day, signed by it
# unpinned: https://github.com/BVLC/caffe.git at 1.0 has no commit here

RUN rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list

RUN apt-get update -y && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        ca-certificates \
        cmake \
        git \
        libboost-all-dev \
        libgflags-dev \
        libgoogle-glog-dev \
        libhdf5-serial-dev \
        libleveldb-dev \
        liblmdb-dev \
        libopenblas-dev \
        libopencv-dev \
        libprotobuf-dev \
        libsnappy-dev \
        protobuf-compiler \
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

RUN git clone --depth 1 --branch 1.0 https://github.com/BVLC/caffe.git /var/tmp/caffe && \
    cmake -S /var/tmp/caffe -B /var/tmp/caffe/build -DBLAS=open -DBUILD_python=OFF -DCMAKE_INSTALL_PREFIX=/opt/caffe -DCUDA_ARCH_NAME=Manual -DCUDA_ARCH_BIN=6.1 -DCMAKE_C_FLAGS="-march=broadwell -mtune=broadwell" -DCMAKE_CXX_FLAGS="-march=broadwell -mtune=broadwell" && \
    make -C /var/tmp/caffe/build -j$(nproc) install && \
    rm -rf /var/tmp/caffe

LABEL modak.accelerator=nvidia \
    modak.compute_capability_max=6.9 \
    modak.compute_capability_min=6.1 \
    modak.cuda=10.1 \
    modak.framework=caffe \
    modak.microarchitecture=broadwell \
    modak.python=3.6 \
    modak.source=opt-build \
    modak.verified=no \
    modak.version=1.0
