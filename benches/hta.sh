#!/usr/bin/env bash
# Compares `holdup explain` with HolisticTraceAnalysis on the same traces, in turns, and prints a Markdown table.
#
#     benches/hta.sh [TRACE…]          default: the traces in examples/
#
# HOLDUP_BENCH_DIR  folder of the Python environment (default: target/bench); it is kept for the next run
# HOLDUP_BENCH_RUNS runs of each; the median counts (default: 5)
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

traces=("$@")
[ ${#traces[@]} -gt 0 ] || traces=("$here"/examples/*.json.gz)

dir=${HOLDUP_BENCH_DIR:-$here/target/bench}
python=$dir/hta/bin/python
if ! "$python" -c 'import hta' 2>/dev/null; then
    python3 -m venv "$dir/hta"
    "$python" -m pip install --quiet 'HolisticTraceAnalysis==0.5.0'
fi
(cd "$here" && cargo build --profile dist --quiet -p holdup)
holdup=$(cd "$here" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/dist/holdup
python3 "$here/benches/tables.py" compare "$holdup" "$python" "${HOLDUP_BENCH_RUNS:-5}" "${traces[@]}"
