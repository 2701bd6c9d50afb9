FROM bvlc/caffe:intel
# intel-caffe 1.1.6, hub, for processors
# unverified: not built since Caffe ended in 2018, and its packages and tags may be gone
# unpinned: the base image bvlc/caffe:intel has no digest, its owner may replace it

LABEL modak.accelerator=none \
    modak.framework=intel-caffe \
    modak.source=hub \
    modak.verified=no \
    modak.version=1.1.6
