FROM mcr.microsoft.com/cntk/release:2.7-cpu-python3.5
# cntk 2.7, hub, for processors
# unverified: not built since CNTK ended in 2019, and its image may be gone
# unpinned: the base image mcr.microsoft.com/cntk/release:2.7-cpu-python3.5 has no digest, its owner may replace it

LABEL modak.accelerator=none \
    modak.framework=cntk \
    modak.source=hub \
    modak.verified=no \
    modak.version=2.7
