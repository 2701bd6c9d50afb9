#!/bin/bash
#PBS -S /bin/bash
#PBS -N resnet50
#PBS -q gpu
#PBS -l select=2:ncpus=64:mpiprocs=1:ompthreads=64:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=02:00:00
# written by MODAK
# image: podman-hpc pull docker.io/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, once
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=16
export PYTHONNOUSERSITE=1

# --- the container image
MODAK_IMAGE=docker.io/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime

# --- set-up of the launcher
MODAK_RDZV_HOST="$(uname -n)"
MODAK_RDZV_ID="${PBS_JOBID:-$$}"-"${PBS_ARRAY_INDEX:-}"
MODAK_RDZV_SUM="$(cksum <<<"${MODAK_RDZV_ID}")"
MODAK_RDZV_PORT="$((15000 + ${MODAK_RDZV_SUM%% *} % 15000))"

# --- checks
command -v podman-hpc >/dev/null 2>&1 ||
    modak_stop 71 "podman-hpc is not on this node: load the module that provides it, or ask the site which container runtime to use"
podman-hpc images 2>&1 | grep -F -e docker.io/pytorch/pytorch >/dev/null ||
    modak_stop 72 "${MODAK_IMAGE:?} is not among podman-hpc's images: podman-hpc pull docker.io/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, once"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"
[[ "${PWD:?}" != *[:]* ]] ||
    modak_stop 78 "${PWD:?} has : in its name, so it cannot be bound into the container: use another directory"
command -v mpiexec >/dev/null 2>&1 ||
    modak_stop 77 "mpiexec is not on this node: load the PALS module"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
mpiexec -n 2 --ppn 1 --depth 64 --cpu-bind depth \
    podman-hpc run --rm --env-host --gpu --ipc=host --network=host --uts=host --volume "${PWD:?}":"${PWD:?}" --volume /scratch:/scratch \
        --workdir "${PWD:?}" "${MODAK_IMAGE:?}" \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="${MODAK_RDZV_ID:?}" \
        --rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}" train.py --model resnet50
