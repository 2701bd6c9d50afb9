#!/bin/bash
#PBS -S /bin/bash
#PBS -N solver
#PBS -q cpu
#PBS -l select=2:ncpus=64:mpiprocs=32:ompthreads=2:mem=122070mb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -v LICENCE
# written by MODAK
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close

# --- checks
command -v mpiexec >/dev/null 2>&1 ||
    modak_stop 77 "mpiexec is not on this node: load the PALS module"

# --- before the run, on the first node
mkdir -p results

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the run
mpiexec -n 64 --ppn 32 --depth 2 --cpu-bind depth \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out

# --- after the run, on the first node
tar -cf results.tar results
