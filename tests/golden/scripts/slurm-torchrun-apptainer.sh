#!/bin/bash
#SBATCH --job-name=resnet50
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --gres=gpu:4
#SBATCH --time=02:00:00
# written by MODAK
# image: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it
# submit: sbatch FILE, from the directory that its relative paths refer to

# stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?}"
modak_stop() {
    printf 'modak: %s\n' "$2" >&2
    exit "$1"
}

# environment
export OMP_NUM_THREADS=16
export PYTHONNOUSERSITE=1

# the container image
MODAK_IMAGE="${SINGULARITY_DIR:-${PWD}}"/pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif

# set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SLURM_CPU_BIND SLURM_CPUS_PER_GPU SLURM_DISTRIBUTION SLURM_GPU_BIND SLURM_GPUS SLURM_GPUS_PER_NODE \
        SLURM_GPUS_PER_SOCKET SLURM_GPUS_PER_TASK SLURM_HINT SLURM_MEM_BIND SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU \
        SLURM_MEM_PER_NODE SLURM_NTASKS_PER_CORE SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_SOCKET SLURM_NTASKS_PER_TRES \
        SLURM_OVERCOMMIT SLURM_THREADS_PER_CORE SLURM_TRES_PER_TASK SLURM_CLUSTERS SLURM_CONSTRAINT SLURM_EXCLUSIVE \
        SLURM_GRES SLURM_HET_SIZE SLURM_LABELIO SLURM_NO_KILL SLURM_REMOTE_CWD SLURM_RESV_PORTS SLURM_SEND_LIBS \
        SLURM_SRUN_MULTI SLURM_STDERRMODE SLURM_STDOUTMODE SLURM_STEP_GRES SLURM_TIMELIMIT SLURM_WAIT SLURM_WORKING_DIR
MODAK_HOSTS="$(scontrol show hostnames "${SLURM_JOB_NODELIST:?}")"
MODAK_RDZV_HOST="${MODAK_HOSTS%%$'\n'*}"
MODAK_RDZV_PORT="$((15000 + ${SLURM_JOB_ID:?} % 15000))"

# checks
command -v apptainer >/dev/null 2>&1 ||
    modak_stop 71 "apptainer is not on this node: load the module that provides it, or ask the site which container runtime to use"
test -r "${MODAK_IMAGE:?}" ||
    modak_stop 72 "${MODAK_IMAGE:?} cannot be read: apptainer pull pytorch_2.8.0-cuda12.8-cudnn9-runtime.sif docker://pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime fetches it, or set SINGULARITY_DIR to its directory"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# the run
srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 --cpu-bind=cores --export=ALL --kill-on-bad-exit=1 \
    apptainer exec --nv "${MODAK_IMAGE:?}" \
    torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="${SLURM_JOB_ID:?}" \
        --rdzv-endpoint="${MODAK_RDZV_HOST:?}":"${MODAK_RDZV_PORT:?}" train.py --model resnet50
