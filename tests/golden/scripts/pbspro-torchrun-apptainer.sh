#!/bin/bash
#PBS -S /bin/bash
#PBS -N resnet50
#PBS -q gpu
#PBS -l select=2:ncpus=64:mpiprocs=1:ompthreads=64:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=02:00:00
# written by MODAK
# image: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it
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
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif

# --- set-up of the launcher
MODAK_RDZV_HOST="$(uname -n)"
MODAK_RDZV_ID="${PBS_JOBID:-$$}"-"${PBS_ARRAY_INDEX:-}"
MODAK_RDZV_SUM="$(cksum <<<"${MODAK_RDZV_ID}")"
MODAK_RDZV_PORT="$((15000 + ${MODAK_RDZV_SUM%% *} % 15000))"

# --- checks
command -v apptainer >/dev/null 2>&1 ||
    modak_stop 71 "apptainer is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, or set SINGULARITY_DIR to its directory"
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *'Open MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is Open MPI; load its module. mpirun --version: ${MODAK_SAID:?}"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"
# each rank counts its CPUs; the output shows how many ranks have each binding
# shellcheck disable=SC2016
MODAK_PROBE='
count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
echo "modak: a rank may use $count CPUs ($(sed -n "s/Cpus_allowed_list:[[:space:]]*//p" /proc/self/status))"
test "$count" -ge "$1"
'
mpirun --hostfile "${PBS_NODEFILE:?}" -n 2 --map-by ppr:1:node --bind-to none -x PATH \
    bash -c "${MODAK_PROBE:?}" probe 64 </dev/null \
    | sort | uniq -c >&2 ||
    modak_stop 75 "a rank has fewer CPUs than planned: check the cores per rank, and whether the site sets a binding of its own; without any counts above, the launcher could not start the ranks: see its own message"

# --- the run
mpirun --hostfile "${PBS_NODEFILE:?}" -n 2 --map-by ppr:1:node --bind-to none -x PATH -x OMP_NUM_THREADS -x PYTHONNOUSERSITE \
    apptainer exec --nv "${MODAK_IMAGE:?}" \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="${MODAK_RDZV_ID:?}" \
        --rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}" train.py --model resnet50
