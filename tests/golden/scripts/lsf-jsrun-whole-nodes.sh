#!/bin/bash
#BSUB -J solver
#BSUB -G guests
#BSUB -q pbatch
#BSUB -nnodes 2
#BSUB -alloc_flags smt4
#BSUB -W 1:00
#BSUB -o solver.%J.out
# written by MODAK
# submit: bsub < FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${LS_SUBCWD:?submit this script with bsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=1

# --- checks
command -v jsrun >/dev/null 2>&1 ||
    modak_stop 77 "jsrun is not on this node: load its module, or use mpirun if this LSF has no jsrun"

# --- the run
jsrun -n 2 -r 1 -a 4 -c 64 -g 4 -d packed -b packed:16 \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out
