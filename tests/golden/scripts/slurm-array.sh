#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --time=00:10:00
#SBATCH --mem=7629M
#SBATCH --array=0-99%10
#SBATCH --output=logs/%A-%a.out
#SBATCH --dependency=afterok:77
#SBATCH --kill-on-invalid-dep=yes
#SBATCH --begin=2026-12-24T18:00
# written by MODAK
# submit: sbatch FILE, from the folder of the program's files: relative paths start there

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- environment
export OMP_NUM_THREADS=4
export OMP_PLACES=cores
export OMP_PROC_BIND=close

# --- set-up of the launcher
# a program with MPI would look for the process manager of the session in which this script was submitted
unset PMI_FD PMIX_NAMESPACE SLURM_STEP_ID SLURM_STEPID

# --- the run
python3 sweep.py --case "${SLURM_ARRAY_TASK_ID:?}"
