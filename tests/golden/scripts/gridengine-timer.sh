#!/bin/bash
#$ -S /bin/bash
#$ -N solver
#$ -q cpu
#$ -l h_rt=01:00:00
#$ -r y
#$ -l h_vmem=1907M
#$ -v LICENCE
#$ -cwd
#$ -pe mpi 128
# written by MODAK
# submit: qsub FILE, from the folder of the program's files: relative paths start there
# plan 0123456789abcdef0123

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${SGE_O_WORKDIR:?submit this script with qsub}"
modak_stop() { printf 'modak: %s\n' "$2" >&2; exit "$1"; }

# --- timer: the scheduler does not signal the script before the time limit
modak_timer() {
    trap 'kill "$!"; exit' TERM INT
    sleep "$(($1 - SECONDS))" &
    wait "$!" && kill -s "$2" "$$"
}
modak_untimed() {
    test -z "${MODAK_TIMER:=$!}" || kill "${MODAK_TIMER}" 2>/dev/null
}
trap modak_untimed EXIT
modak_timer 3480 USR1 >/dev/null 2>&1 &
MODAK_TIMER=$!

# --- at exit, however the job ends
modak_end() {
    MODAK_STATUS=$?
    trap '' TERM # may be sent more than once at the time limit
    trap - EXIT
    set +e
    if test "${MODAK_STATUS}" -eq 0 && test -z "${MODAK_DONE:-}"; then # a signal leaves the status of the command before
        printf 'modak: a signal ended the script before its last command\n' >&2
        MODAK_STATUS=143
    fi
    modak_untimed
    exit "${MODAK_STATUS}"
}
trap modak_end EXIT

# --- environment
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export MODAK_STORAGE="${SCRATCH:?}"

# --- checks
awk '{ slots[$1] += $2 } END { for (host in slots) if (slots[host] == 64) full++; exit full != 2 }' "${PE_HOSTFILE:?}" ||
    modak_stop 75 "the job needs 64 slots on each of 2 nodes: name a parallel environment that allocates them so (-pe in the system file)"
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *HYDRA* || ${MODAK_SAID} == *'Intel(R) MPI'* ]] ||
    modak_stop 77 "mpirun is missing or belongs to another MPI: the job's MPI is MPICH; load its module. mpirun --version: ${MODAK_SAID:?}"
test -w "${MODAK_STORAGE:?}" ||
    modak_stop 79 "${MODAK_STORAGE:?} is not writable on this node: is it the right storage for this system?"
# each rank counts its CPUs; the output shows how many ranks have each binding
# shellcheck disable=SC2016
MODAK_PROBE='
count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
echo "modak: a rank may use $count CPUs ($(sed -n "s/Cpus_allowed_list:[[:space:]]*//p" /proc/self/status))"
test "$count" -ge "$1"
'
mpirun -n 64 -ppn 32 -bind-to core:2 \
    bash -c "${MODAK_PROBE:?}" probe 2 </dev/null \
    | sort | uniq -c >&2 ||
    modak_stop 75 "a rank has fewer CPUs than planned: check the cores per rank, and whether the site sets a binding of its own; without any counts above, the launcher could not start the ranks: see its own message"

# --- before the run, on the first node
mkdir -p results

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the signal before the time limit
modak_checkpoint() {
    touch 'stop now'
}
modak_signal() {
    MODAK_SIGNALLED=1
    printf 'modak: the time limit is near\n' >&2
    modak_checkpoint || printf 'modak: the checkpoint failed with status %s\n' "$?" >&2
}
modak_wait() {
    while :; do
        MODAK_SIGNALLED=''
        MODAK_STATUS=0
        wait "${MODAK_RUN}" || MODAK_STATUS=$?
        test -n "${MODAK_SIGNALLED}" || return "${MODAK_STATUS}"
    done
}

# --- the run
mpirun -n 64 -ppn 32 -bind-to core:2 \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out &
MODAK_RUN=$!
trap modak_signal USR1
modak_wait
trap : USR1

# --- after the run, on the first node
tar -cf results.tar results
MODAK_DONE=1 # no signal has cut the script short
