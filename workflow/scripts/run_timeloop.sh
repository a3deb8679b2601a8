#!/bin/sh
# Make the Timeloop runs below the folder $1 whose names stand in the file $2. Needs a POSIX shell, awk and coreutils but
# no Python: it runs in the container that has Timeloop. A run that has a file "exit" has been made already.
set -u
for name in $(env | sed -n 's/^\(TIMELOOP_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
while read -r name; do
    folder="$1/$name"
    if [ -f "$folder/exit" ]; then continue; fi
    # Two jobs may ask for one run: each works in a folder of its own, and every result appears by one rename.
    work="$folder/work.$$"
    rm -rf "$work"
    mkdir "$work" || exit 1
    cp "$folder/command" "$folder"/*.yaml "$work"
    (
        cd "$work" || exit 1
        begin=$(date +%s)
        # Of the lines that the mapper prints for every mapping, the last of each thread is kept.
        { sh ./command </dev/null 2>&1; echo "$?" >code; } | awk '
            / UPDATE / { next }
            / INVALID / { split($0, part, "INVALID"); last[part[1]] = $0; next }
            { print }
            END { for (thread in last) print last[thread] }' >log
        echo "$(cat code) $(($(date +%s) - begin))" >exit
        for file in timeloop-m*.map.txt timeloop-m*.stats.txt timeloop-m*.map+stats.xml log exit; do
            if [ -f "$file" ]; then mv "$file" ..; fi
        done
    )
    rm -rf "$work"
done <"$2"
