#!/bin/bash
#SBATCH --job-name=solver
#SBATCH --partition=cpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=32
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
#SBATCH --mem-per-cpu=1907M
#SBATCH --exclusive
#SBATCH --export=ALL,LICENCE
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
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close

# set-up of the launcher
# mpirun starts its daemons with srun, which would not find them with --export=NONE
# srun would take these for options; they may be of the environment in which this script was submitted
unset SLURM_EXPORT_ENV SLURM_CPU_BIND SLURM_CPUS_PER_GPU SLURM_DISTRIBUTION SLURM_GPU_BIND SLURM_GPUS \
        SLURM_GPUS_PER_NODE SLURM_GPUS_PER_SOCKET SLURM_GPUS_PER_TASK SLURM_HINT SLURM_MEM_BIND SLURM_MEM_PER_GPU \
        SLURM_MEM_PER_NODE SLURM_NTASKS_PER_CORE SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_SOCKET SLURM_NTASKS_PER_TRES \
        SLURM_OVERCOMMIT SLURM_THREADS_PER_CORE SLURM_TRES_PER_TASK SLURM_CLUSTERS SLURM_CONSTRAINT SLURM_EXCLUSIVE \
        SLURM_GRES SLURM_HET_SIZE SLURM_LABELIO SLURM_NO_KILL SLURM_REMOTE_CWD SLURM_RESV_PORTS SLURM_SEND_LIBS \
        SLURM_SRUN_MULTI SLURM_STDERRMODE SLURM_STDOUTMODE SLURM_STEP_GRES SLURM_TIMELIMIT SLURM_WAIT SLURM_WORKING_DIR

# checks
mpirun --version 2>&1 | grep -F -e HYDRA >/dev/null || mpirun --version 2>&1 | grep -F -e 'Intel(R) MPI' >/dev/null ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is MPICH; load its module"

# before the run, on the first node
mkdir -p results

# the run
mpirun -n 64 -ppn 32 -bind-to core:2 \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out

# after the run, on the first node
tar -cf results.tar results
