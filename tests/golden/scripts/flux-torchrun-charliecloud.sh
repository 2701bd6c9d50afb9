#!/bin/bash
# flux: --job-name=resnet50
# flux: --queue=gpu
# flux: --nodes=2
# flux: --nslots=2
# flux: --cores-per-slot=64
# flux: --gpus-per-slot=4
# flux: --time-limit=7200s
# written by MODAK
# image: ch-image pull pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime and ch-convert -i ch-image -o dir pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime pytorch_2.8.0-cuda12.8-cudnn9-runtime make it
# submit: flux batch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
# PYTHONNOUSERSITE: Python in the container leaves packages of the host's ~/.local alone
export OMP_NUM_THREADS=16
export PYTHONNOUSERSITE=1

# --- the container image
export USER="${USER:-$(id -un)}"
MODAK_IMAGE="${CHARLIECLOUD_DIR:-${SINGULARITY_DIR:-${PWD}}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime

# --- set-up of the launcher
MODAK_RDZV_HOST="$(uname -n)"
MODAK_RDZV_ID="${FLUX_ENCLOSING_ID:-$$}"
MODAK_RDZV_SUM="$(cksum <<<"${MODAK_RDZV_ID}")"
MODAK_RDZV_PORT="$((15000 + ${MODAK_RDZV_SUM%% *} % 15000))"

# --- checks
command -v ch-run >/dev/null 2>&1 ||
    modak_stop 71 "ch-run is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -d "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: ch-image pull pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime and ch-convert -i ch-image -o dir pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime pytorch_2.8.0-cuda12.8-cudnn9-runtime make it, or set CHARLIECLOUD_DIR to its directory"
test -r "${MODAK_IMAGE:?}"/ch/environment ||
    modak_stop 72 "${MODAK_IMAGE:?}/ch/environment is not in the image: create it, empty if the image sets no variables"
test -e /scratch ||
    modak_stop 78 "/scratch is not on this node, but has to be bound into the container: is its file system mounted?"
[[ "${PWD:?}" != *[:]* ]] ||
    modak_stop 78 "${PWD:?} has : in its name, so it cannot be bound into the container: use another directory"
[[ -d ${MODAK_IMAGE:?}/mnt/0 ]] ||
    modak_stop 78 "/mnt/0 is not in the image: create it there, empty; directories of the job are bound there"
test -d "${MODAK_IMAGE:?}"/scratch ||
    modak_stop 78 "/scratch is not in the image: create it there, empty; the site binds this directory into containers"
flux getattr size >/dev/null 2>&1 ||
    modak_stop 77 "there is no Flux instance here: submit the script with flux batch"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
flux run -N 2 -n 2 -c 64 -g 4 -o gpu-affinity=off -o cpu-affinity=per-task \
    ch-run --set-env="${MODAK_IMAGE:?}"/ch/environment --bind="${PWD:?}":/mnt/0 --bind=/scratch:/scratch --cd=/mnt/0 \
        "${MODAK_IMAGE:?}" -- \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="${MODAK_RDZV_ID:?}" \
        --rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}" train.py --model resnet50
