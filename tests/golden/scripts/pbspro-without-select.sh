#!/bin/bash
#PBS -S /bin/bash
#PBS -N solver
#PBS -P ab1
#PBS -q gpuvolta
#PBS -l ncpus=128
#PBS -l ngpus=8
#PBS -l mem=983040mb
#PBS -l walltime=01:00:00
#PBS -l storage=gdata/ab1+scratch/ab1
#PBS -l wd
# written by MODAK
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=1

# --- checks
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *'Open MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is Open MPI; load its module. mpirun --version: ${MODAK_SAID:?}"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the run
mpirun --hostfile "${PBS_NODEFILE:?}" -n 8 --map-by ppr:4:node:PE=16 --bind-to core -x PATH -x OMP_NUM_THREADS \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out
