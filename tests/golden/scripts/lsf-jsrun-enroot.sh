#!/bin/bash
#BSUB -J resnet50
#BSUB -q gpu
#BSUB -n 128
#BSUB -R span[ptile=64]
#BSUB -gpu num=4/host
#BSUB -W 2:00
#BSUB -o resnet50.%J.out
# written by MODAK
# image: enroot import -o pytorch_2.8.0-cuda12.8-cudnn9-runtime.sqsh docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it
# submit: bsub < FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${LS_SUBCWD:?submit this script with bsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=16
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export PYTHONNOUSERSITE=1

# --- the container image
MODAK_IMAGE="${ENROOT_DIR:-${SINGULARITY_DIR:-${PWD}}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sqsh

# --- checks
command -v enroot >/dev/null 2>&1 ||
    modak_stop 71 "enroot is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: enroot import -o pytorch_2.8.0-cuda12.8-cudnn9-runtime.sqsh docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, or set ENROOT_DIR to its directory"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"
[[ "${PWD:?}" != *[\ :]* ]] ||
    modak_stop 78 "${PWD:?} has a blank or : in its name, so it cannot be bound into the container: use another directory"
command -v jsrun >/dev/null 2>&1 ||
    modak_stop 77 "jsrun is not on this node: load its module, or use mpirun if this LSF has no jsrun"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
jsrun -n 2 -r 1 -a 4 -c 64 -g 4 -d packed -b packed:16 \
    enroot start --env OMP_NUM_THREADS --env OMP_PLACES --env OMP_PROC_BIND --env PYTHONNOUSERSITE --mount "${PWD:?}":"${PWD:?}" \
        --mount /scratch:/scratch "${MODAK_IMAGE:?}" env --chdir="${PWD:?}" \
    python3 -u train.py --model resnet50
