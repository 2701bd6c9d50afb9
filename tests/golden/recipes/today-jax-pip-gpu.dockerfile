FROM ubuntu:24.04
# jax 0.10.2, pip, for GPUs of NVIDIA
# unpinned: the base image ubuntu:24.04 is named by its tag, since Charliecloud reads no digests; sha256:d1e2e92c075e5ca139d51a140fff46f84315c0fdce203eab2807c7e495eff4f9 is meant
# unpinned: packages of the Linux distribution are those of the day, signed by it

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
    printf '%s\n' 'pip==25.3 --hash=sha256:9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd' \
        'setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922' \
        'wheel==0.45.1 --hash=sha256:708e7481cc80179af0e556bbf0cc00b8444c7321e2700b8d8580231d13017248' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

RUN printf '%s\n' 'jax==0.10.2 --hash=sha256:724d73c4678d8b06f6a6ab4db1b8a2fea8cd4f1e2c2564f99601634ec7b8d1c6' \
        'jaxlib==0.10.2 --hash=sha256:fe88ec443714c4379968b6c109f9fa617c7ad19b802828e4d7bf861cd66da4b7' \
        'ml-dtypes==0.6.0 --hash=sha256:3b4a480aa8fd54a1805b8ac10f3f91763926a74f73c0c364c10f9231854f4170' \
        'numpy==2.4.6 --hash=sha256:90f9849678c75fe7afa2d348ac842c168b0a4d3d61919687216dfc547976d853' \
        'opt-einsum==3.4.0 --hash=sha256:69bb92469f86a1565195ece4ac0323943e83477171b91d24c35afe028a90d7cd' \
        'scipy==1.17.1 --hash=sha256:02ae3b274fde71c5e92ac4d54bc06c42d80e399fec704383dcd99b301df37458' \
        'jax-cuda12-pjrt==0.10.2 --hash=sha256:806d1fd29038b6acf5a2b289dd62192abea977ee26aef60ea295b1d28a23acf8' \
        'jax-cuda12-plugin==0.10.2 --hash=sha256:4eb6e8e0992fd9897db2468da33f276ae414ec84dc436804124404430502eeac' \
        'nvidia-cublas-cu12==12.9.3.13 --hash=sha256:d7d51055f161b317c7105ddaae90e71eda059026074ffef93cf7cde2886bfe72' \
        'nvidia-cuda-cccl-cu12==12.9.27 --hash=sha256:37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117' \
        'nvidia-cuda-cupti-cu12==12.8.90 --hash=sha256:ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182' \
        'nvidia-cuda-nvcc-cu12==12.9.86 --hash=sha256:5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0' \
        'nvidia-cuda-nvrtc-cu12==12.9.86 --hash=sha256:210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4' \
        'nvidia-cuda-runtime-cu12==12.9.79 --hash=sha256:25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3' \
        'nvidia-cudnn-cu12==9.28.0.42 --hash=sha256:9ff58b7f36dacd0a93e89f8f2957b52466889217963701daa15e577317cfa375' \
        'nvidia-cufft-cu12==11.4.1.4 --hash=sha256:c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28' \
        'nvidia-cusolver-cu12==11.7.5.82 --hash=sha256:15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88' \
        'nvidia-cusparse-cu12==12.5.10.65 --hash=sha256:73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78' \
        'nvidia-nccl-cu12==2.32.3 --hash=sha256:bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c' \
        'nvidia-nvjitlink-cu12==12.9.86 --hash=sha256:e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9' \
        'nvidia-nvshmem-cu12==3.8.0 --hash=sha256:b2e5760d6158aefe7bb74348d5128bb1b46a7dd1fd4b7b1e6fe55b4b07888f70' > /var/tmp/requirements.txt && \
    pip3 install --no-cache-dir --require-hashes --requirement /var/tmp/requirements.txt && \
    rm /var/tmp/requirements.txt

LABEL modak.accelerator=nvidia \
    modak.compilers=xla \
    modak.compute_capability_max=12.1 \
    modak.compute_capability_min=5.2 \
    modak.cuda=12 \
    modak.framework=jax \
    modak.python=3.12 \
    modak.source=pip \
    modak.verified=no \
    modak.version=0.10.2
