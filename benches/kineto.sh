#!/usr/bin/env bash
# Measures speed and memory of `holdup explain` by the size of a Kineto trace, and prints a Markdown table.
#
#     benches/kineto.sh [SIZE…]        default: 10MB 100MB 1GB 4GB dense-1GB
#
# `dense-` before a size: only calls and their operations, with few arguments.
#
# HOLDUP_BENCH_DIR  folder of the traces (default: target/bench); they are kept for the next run
# HOLDUP_BENCH_RUNS runs per trace; the median counts (default: 3)
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${HOLDUP_BENCH_DIR:-target/bench}
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(10MB 100MB 1GB 4GB dense-1GB)

cargo build --profile dist --quiet -p holdup -p xtask
target=${CARGO_TARGET_DIR:-target}/dist
mkdir -p "$dir"
traces=()
for size in "${sizes[@]}"; do
    trace=$dir/kineto-$size.json
    if [ ! -s "${trace%.json}.planted" ]; then
        case $size in dense-*) dense=--dense ;; *) dense= ;; esac
        "$target/xtask" generate kineto --size "${size#dense-}" ${dense:+"$dense"} -o "$trace" >"$dir/unfinished"
        mv "$dir/unfinished" "${trace%.json}.planted"
    fi
    traces+=("$trace")
done
python3 benches/tables.py sizes "$target/holdup" "${HOLDUP_BENCH_RUNS:-3}" "${traces[@]}"
