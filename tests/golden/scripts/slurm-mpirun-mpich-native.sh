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
# submit: sbatch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close

# --- set-up of the launcher
# mpirun starts its daemons with srun, which would not find them with --export=NONE
# srun would take these for options; they may be of the environment in which this script was submitted
unset SRUN_CPUS_PER_TASK SLURM_{EXPORT_ENV,CPU_BIND,CPUS_PER_GPU,DISTRIBUTION,GPU_BIND,GPUS,GPUS_PER_NODE,GPUS_PER_SOCKET} \
    SLURM_{GPUS_PER_TASK,HINT,MEM_BIND,MEM_PER_GPU,MEM_PER_NODE,NTASKS_PER_CORE,NTASKS_PER_GPU,NTASKS_PER_SOCKET} \
    SLURM_{NTASKS_PER_TRES,OVERCOMMIT,THREADS_PER_CORE,TRES_PER_TASK,CLUSTERS,CONSTRAINT,EXCLUSIVE,GRES,HET_SIZE} \
    SLURM_{JOB_NODELIST_HET_GROUP_0,JOB_NODELIST_PACK_GROUP_0,LABELIO,NO_KILL,REMOTE_CWD,RESV_PORTS,SEND_LIBS,SRUN_MULTI} \
    SLURM_{STDERRMODE,STDOUTMODE,STEP_GRES,TIMELIMIT,WAIT,WORKING_DIR}

# --- checks
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *HYDRA* || ${MODAK_SAID} == *'Intel(R) MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is MPICH; load its module. mpirun --version: ${MODAK_SAID:?}"

# --- before the run, on the first node
mkdir -p results

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the run
mpirun -n 64 -ppn 32 -bind-to core:2 \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out

# --- after the run, on the first node
tar -cf results.tar results
