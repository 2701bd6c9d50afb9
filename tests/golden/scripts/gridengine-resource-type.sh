#!/bin/bash
#$ -S /bin/bash
#$ -N solver
#$ -g gaa50000
#$ -l h_rt=01:00:00
#$ -l rt_F=2
#$ -cwd
# written by MODAK
# submit: qsub FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SGE_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- modules
test -r /etc/profile.d/modules.sh ||
    modak_stop 70 "/etc/profile.d/modules.sh is not on this node: it defines the module command"
# shellcheck source=/dev/null
. /etc/profile.d/modules.sh || :
module use /apps/modules ||
    modak_stop 70 "/apps/modules cannot be added to the module path: check module_paths in the system file"
module use /groups/gaa50000/modules ||
    modak_stop 70 "/groups/gaa50000/modules cannot be added to the module path: check module_paths in the system file"
module load cuda/12.4 ||
    modak_stop 70 "module cuda/12.4 could not be loaded: module avail lists the modules of this system"

# --- environment
export OMP_NUM_THREADS=1

# --- checks
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *'Open MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is Open MPI; load its module. mpirun --version: ${MODAK_SAID:?}"
test -n "${CUDA_VISIBLE_DEVICES:-}" || nvidia-smi -L >/dev/null 2>&1 ||
    modak_stop 74 "no GPU is visible on this node: check the partition and the GPUs that the job requests"

# --- the run
mpirun -n 8 --map-by ppr:4:node:PE=16 --bind-to core -x PATH -x LD_LIBRARY_PATH -x OMP_NUM_THREADS -hostfile "${SGE_JOB_HOSTLIST:?}" \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out
