#!/bin/bash
# written by MODAK
# image: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it
# submit: bash FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=16
export PYTHONNOUSERSITE=1

# --- the container image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif

# --- checks
command -v apptainer >/dev/null 2>&1 ||
    modak_stop 71 "apptainer is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, or set SINGULARITY_DIR to its directory"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
apptainer exec --nv "${MODAK_IMAGE:?}" \
    torchrun --nnodes=1 --nproc-per-node=4 --standalone train.py --model resnet50
