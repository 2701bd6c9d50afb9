#!/bin/bash
#SBATCH --job-name=solver
#SBATCH --account=m1234
#SBATCH --qos=regular
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gres=gpu:4
#SBATCH --time=01:00:00
#SBATCH --licenses=scratch:1
#SBATCH --constraint=gpu
# written by MODAK
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
export OMP_NUM_THREADS=1
export OMP_PLACES=cores
export OMP_PROC_BIND=close

# set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SLURM_CPU_BIND SLURM_CPUS_PER_GPU SLURM_DISTRIBUTION SLURM_GPU_BIND SLURM_GPUS SLURM_GPUS_PER_NODE \
        SLURM_GPUS_PER_SOCKET SLURM_GPUS_PER_TASK SLURM_HINT SLURM_MEM_BIND SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU \
        SLURM_MEM_PER_NODE SLURM_NTASKS_PER_CORE SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_SOCKET SLURM_NTASKS_PER_TRES \
        SLURM_OVERCOMMIT SLURM_THREADS_PER_CORE SLURM_TRES_PER_TASK SLURM_CLUSTERS SLURM_CONSTRAINT SLURM_EXCLUSIVE \
        SLURM_GRES SLURM_HET_SIZE SLURM_LABELIO SLURM_NO_KILL SLURM_REMOTE_CWD SLURM_RESV_PORTS SLURM_SEND_LIBS \
        SLURM_SRUN_MULTI SLURM_STDERRMODE SLURM_STDOUTMODE SLURM_STEP_GRES SLURM_TIMELIMIT SLURM_WAIT SLURM_WORKING_DIR

# checks
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# the run
srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=16 --cpu-bind=cores --export=ALL --kill-on-bad-exit=1 \
        --gpu-bind=closest \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out
