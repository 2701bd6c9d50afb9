#!/bin/bash
#PBS -S /bin/bash
#PBS -N solver
#PBS -q cpu
#PBS -l select=2:ncpus=64:mpiprocs=32:ompthreads=2:mem=122070mb
#PBS -l place=scatter:exclhost
#PBS -l walltime=01:00:00
#PBS -J 1-9
#PBS -r y
#PBS -v LICENCE
# written by MODAK
# submit: qsub FILE, from the folder of the program's files: relative paths start there
# plan 0123456789abcdef0123

# --- stop at the first error; unset inherited variables that could run code
set -e -o pipefail
unset BASH_ENV ENV CDPATH
cd -- "${PBS_O_WORKDIR:?submit this script with qsub}"
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

# --- at exit, however the job ends: modak-result-JOB.json records the outcome (the job itself is below)
MODAK_HERE="${PWD}"
MODAK_JOB="${PBS_JOBID:-$$}"
MODAK_JOB="${MODAK_JOB//[!A-Za-z0-9._-]/-}"
modak_now() { date +%s%N | sed -E 's/[^0-9]*$/000/; s/^(.{13}).*/\1/'; } # milliseconds; busybox's date has no parts of a second
MODAK_PLAN=0123456789abcdef0123
MODAK_RECORD='"application": "solver", "dataset": "it'"'"'s 50% of \"all\"", "nodes": 2, "ranks_per_node": 32, "threads_per_rank": 2'
MODAK_RESULT="${MODAK_HERE}"/modak-result-"${MODAK_JOB}"-"${PBS_ARRAY_INDEX:-0}".json
MODAK_PATTERN='rate: ([0-9.]+) cells/s'
MODAK_METRIC='"metric": "throughput", "unit": "cells/s"'
modak_metric() {
    local LC_ALL=C line match value cut='[0-9]([.,]:[0-9]+|,:[0-9]{3}[.][0-9]*)$'
    local number='^[+]?(([0-9]+|[0-9]{1,3}(,[0-9]{3})+)([.][0-9]*)?|[.][0-9]+)([eE][+-]?0*[0-9]{1,2})?$'
    line="$(<"${MODAK_NOTES}/output.last")"
    test -n "${line}" || line="$(<"${MODAK_NOTES}/errors.last")"
    if ! [[ ${line} =~ ${MODAK_PATTERN} ]]; then
        printf 'modak: no metric: no line of the output matches its pattern\n' >&2
    elif match="${BASH_REMATCH[0]}" value="${BASH_REMATCH[1]}" && [[ ${value//,/}${line#*"${match}"} =~ ^[+]?[0-9]+,[0-9] ||
        ${match} == "${value}"* && ${line%%"${match}"*}:${value} =~ ${cut} ]]; then
        printf 'modak: no metric: %s may be part of a longer number: let the group take all of it ([0-9.,]+), ' "${value}" >&2
        printf 'or the pattern the commas around it, if they separate columns\n' >&2
    elif ! [[ ${value} =~ ${number} && ${value} =~ ^[+0.]*[1-9] ]]; then
        printf 'modak: no metric: %s is not a positive number from 1e-99 to 1e99\n' "${value}" >&2
    else
        printf ', {%s, "measured_at": "%s", %s, "value": %.12g}' "${MODAK_RECORD}" "${ended}" "${MODAK_METRIC}" "${value//,/}"
        return
    fi
    return 1
}
modak_report() {
    local took=0 seconds=null ended also='' results='' unfinished=''
    ended="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    test -z "${MODAK_STARTED:-}" || took="$((${MODAK_ENDED:-$(modak_now)} - MODAK_STARTED))"
    test "${took}" -le 0 || printf -v seconds '%d.%03d' "$((took / 1000))" "$((took % 1000))" # below 0: the clock was set back
    if test "${MODAK_STATUS}" -ne 0 || test -n "${MODAK_STOPPED:-}"; then
        unfinished=", \"unfinished\": {${MODAK_RECORD}}"
        test "${MODAK_STATUS}" -eq 0 || test -z "${MODAK_ENDED:-}" || also=', "run_status": 0' # what failed came after the run
    elif test "${took}" -gt 0; then
        results="{${MODAK_RECORD}, \"measured_at\": \"${ended}\", \"metric\": \"wall_time\", \"unit\": \"s\", \"value\": ${seconds}}"
        results+="$(modak_metric)" || also=', "metric_read": false'
    fi
    printf '{"modak_result": 1, "plan": "%s", "job": "%s", "host": "%s", "ended": "%s",
 "exit_status": %d%s, "seconds": %s, "results": [%s]%s}\n' "${MODAK_PLAN}" "${MODAK_JOB}" "$(uname -n | tr -cd 'A-Za-z0-9._-')" \
        "${ended}" "${MODAK_STATUS}" "${also}" "${seconds}" "${results}" "${unfinished}" >"${MODAK_RESULT}"
}
modak_send() { # the result file, and nothing else, to the service that MODAK_SERVER of the job's environment names
    local token="${MODAK_TOKEN:-}"
    test -n "${token}" || read -r token <"${MODAK_HERE}/modak-${MODAK_PLAN}.token"
    printf 'header = "Authorization: Bearer %s"\n' "${token//[!A-Za-z0-9._~+\/=-]/}" |
        curl --config - --proto '=http,https' --silent --show-error --fail --location --max-redirs 0 --max-time 20 --output /dev/null \
            --header 'Content-Type: application/json' --data-binary "@${MODAK_RESULT}" \
            -- "${MODAK_SERVER%/}/plans/${MODAK_PLAN}/result"
}
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
    if ! modak_report; then
        printf 'modak: the result could not be written to %s\n' "${MODAK_RESULT}" >&2
        test ! -w "${MODAK_RESULT}" || rm -f -- "${MODAK_RESULT}" 2>/dev/null # it is not whole, and could not be loaded
        MODAK_SERVER=''
    fi
    test -z "${MODAK_SERVER:-}" || modak_send ||
        printf 'modak: the result could not be sent; it is in %s\n' "${MODAK_RESULT##*/}" >&2
    test -z "${MODAK_TEE[*]:-}" || modak_kept
    rm -rf -- "${MODAK_NOTES:-}"
    exit "${MODAK_STATUS}"
}
trap modak_end EXIT

# --- environment
export OMP_NUM_THREADS=2
export OMP_PLACES=cores
export OMP_PROC_BIND=close
export MODAK_STORAGE="${SCRATCH:?}"

# --- checks
MODAK_SAID="$(mpirun --version 2>&1 || echo "status $?")."
[[ ${MODAK_SAID} == *'Open MPI'* ]] ||
    modak_stop 77 "mpirun is missing or not from Open MPI, whose options the script uses: the MPI of this system is unknown, name it in the system file ([[mpi]]). mpirun --version: ${MODAK_SAID:?}"
test -w "${MODAK_STORAGE:?}" ||
    modak_stop 79 "${MODAK_STORAGE:?} is not writable on this node: is it the right storage for this system?"
# each rank counts its CPUs; the output shows how many ranks have each binding
# shellcheck disable=SC2016
MODAK_PROBE='
count=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
echo "modak: a rank may use $count CPUs ($(sed -n "s/Cpus_allowed_list:[[:space:]]*//p" /proc/self/status))"
test "$count" -ge "$1"
'
mpirun --hostfile "${PBS_NODEFILE:?}" -n 64 --map-by ppr:32:node:PE=2 --bind-to core -x PATH -x LICENCE \
    bash -c "${MODAK_PROBE:?}" probe 2 </dev/null \
    | sort | uniq -c >&2 ||
    modak_stop 75 "a rank has fewer CPUs than planned: check the cores per rank, and whether the site sets a binding of its own; without any counts above, the launcher could not start the ranks: see its own message"

# --- before the run, on the first node
mkdir -p results

# --- the program
test -x ./solver ||
    modak_stop 127 "./solver is not there, or may not be executed: a relative path starts in the folder of submission"

# --- the metric, in the output of the run
MODAK_NOTES="$(mktemp -d || mktemp -d -- "${PWD}/modak-notes.XXXXXX")"
modak_keep() { # a stream of the run is passed on, and its last line with the metric is kept; TERM is for the run, which may write more
    mkfifo -- "${MODAK_NOTES}/$1" "${MODAK_NOTES}/$1.lines"
    (
        trap '' TERM
        { LC_ALL=C tr '\r' '\n' | LC_ALL=C grep -a -E -e "${MODAK_PATTERN:?}" || cat; } <"${MODAK_NOTES}/$1.lines" |
            { tail -n 1 >"${MODAK_NOTES}/$1.last" || cat >/dev/null; }
    ) &
    MODAK_KEEP+=("$!")
    (trap '' TERM && exec tee -- "${MODAK_NOTES}/$1.lines" <"${MODAK_NOTES}/$1") &
    MODAK_TEE+=("$!")
}
modak_kept() { # waits until all output has passed, but not for processes that the run leaves behind
    local tries=0 stream
    while kill -0 "${MODAK_TEE[@]}" 2>/dev/null; do
        # tee waits until somebody opens the pipe, which a run that could not start has not done
        for stream in output errors; do
            dd if=/dev/null of="${MODAK_NOTES}/${stream}" oflag=nonblock 2>/dev/null || :
        done
        if test "$((tries += 1))" -gt 100; then
            printf 'modak: a process that the run left behind holds its output open: it is not waited for\n' >&2
            kill -s KILL "${MODAK_TEE[@]}" 2>/dev/null || :
            break
        fi
        sleep 0.1
    done
    wait "${MODAK_TEE[@]}" "${MODAK_KEEP[@]}" 2>/dev/null || :
    MODAK_TEE=()
}
MODAK_KEEP=()
MODAK_TEE=()
modak_keep output
modak_keep errors >&2

# --- the signal before the time limit
modak_checkpoint() {
    touch 'stop now'
}
modak_signal() {
    MODAK_SIGNALLED=1
    MODAK_STOPPED=perhaps
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
MODAK_STARTED="$(modak_now)"
mpirun --hostfile "${PBS_NODEFILE:?}" -n 64 --map-by ppr:32:node:PE=2 --bind-to core -x PATH -x OMP_NUM_THREADS -x OMP_PLACES \
        -x OMP_PROC_BIND -x MODAK_STORAGE -x LICENCE \
    ./solver -i 'input file.dat' -o "${SCRATCH:?}"/out >"${MODAK_NOTES:?}"/output 2>"${MODAK_NOTES:?}"/errors &
MODAK_RUN=$!
trap modak_signal USR1
modak_wait
trap : USR1
MODAK_ENDED="$(modak_now)"
modak_kept

# --- after the run, on the first node
tar -cf results.tar results
MODAK_DONE=1 # no signal has cut the script short
