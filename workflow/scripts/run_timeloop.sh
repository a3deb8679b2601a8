#!/bin/sh
# Make all requested Timeloop runs below the folder $1. Needs a POSIX shell, awk and coreutils, no Python: it runs in
# the container that has Timeloop. A run that has been made has a file "exit" and is not made again.
set -u
for name in $(env | sed -n 's/^\(TIMELOOP_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
for command in "$1"/*/command; do
    [ -f "$command" ] || continue
    folder=$(dirname "$command")
    [ -f "$folder/exit" ] && continue
    (
        cd "$folder" || exit 1
        begin=$(date +%s)
        # Of the lines that the mapper prints for every mapping the last of each thread is kept.
        { sh ./command </dev/null 2>&1; echo "$?" >code; } | awk '
            / UPDATE / { next }
            / INVALID / { split($0, part, "INVALID"); last[part[1]] = $0; next }
            { print }
            END { for (thread in last) print last[thread] }' >log
        echo "$(cat code) $(($(date +%s) - begin))" >exit.part
        mv exit.part exit
    )
done
