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
# submit: sbatch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=1

# --- set-up of the launcher
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,HINT,MEM_BIND,MEM_PER_CPU,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU} \
    SLURM_{NTASKS_PER_SOCKET,NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES} \
    SLURM_{HET_SIZE,JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS} \
    SLURM_{SRUN_MULTI,STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}

# --- checks
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=16 --cpu-bind=cores --export=ALL --kill-on-bad-exit=1 \
        --gpu-bind=closest \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out
