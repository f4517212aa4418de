#!/usr/bin/env bash
# Measures how long a recording takes to become a `.holdup` file, as `holdup record` makes it when the program has ended, and
# prints a Markdown table. No GPU is needed: the recording is made up.
#
#     benches/gather.sh [RECORDS…]     default: 20000000 75000000
#
# HOLDUP_BENCH_DIR     folder of the recordings (default: target/bench); each is removed when it is measured: 2.8 GB for 75
#                      million records
# HOLDUP_BENCH_RUNS    runs per recording; the one with the median time counts (default: 3)
# HOLDUP_BENCH_THREADS threads of the recorded program (default: 32)
# HOLDUP_BENCH_OTHERS  another holdup to compare with, such as one of an earlier version
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${HOLDUP_BENCH_DIR:-target/bench}
runs=${HOLDUP_BENCH_RUNS:-3}
counts=("$@")
[ ${#counts[@]} -gt 0 ] || counts=(20000000 75000000)

cargo build --profile dist --quiet -p holdup -p xtask
target=${CARGO_TARGET_DIR:-target}/dist
mkdir -p "$dir"
spool=$dir/gather
trap 'rm -rf "$spool" "$spool.holdup" "$spool.time" "$spool.runs"' EXIT

echo "| records | spool, MB | holdup | wall, s | CPU, s | peak RSS, MB | file, MB |"
echo "|---:|---:|---|---:|---:|---:|---:|"
for count in "${counts[@]}"; do
    rm -rf "$spool"
    "$target/xtask" generate spool --events "$count" --full "${HOLDUP_BENCH_THREADS:-32}" -o "$spool" >/dev/null
    size=$(du -sb "$spool" | cut -f1)
    for holdup in "$target/holdup" ${HOLDUP_BENCH_OTHERS:-}; do
        for _ in $(seq "$runs"); do
            command time -f '%e %U %S %M' -o "$spool.time" "$holdup" import "$spool" -o "$spool.holdup" --force >/dev/null
            tail -1 "$spool.time"
        done | sort -n >"$spool.runs"
        file=$(stat -c %s "$spool.holdup")
        awk -v at=$(((runs + 1) / 2)) -v records="$count" -v spool="$size" -v holdup="$holdup" -v file="$file" '
            NR == at { printf "| %d | %d | %s | %.1f | %.1f | %d | %d |\n",
                records, spool / 1e6, holdup, $1, $2 + $3, $4 * 1024 / 1e6, file / 1e6 }' "$spool.runs"
    done
done
