#!/usr/bin/env bash
# Measures the cost of recording per kernel launch, compared with bare runs, a minimal CUPTI tracer and torch.profiler, and
# prints Markdown tables. Needs a GPU and nvcc with CUPTI's headers; the tables of PyTorch need PyTorch.
#
#     benches/overhead.sh [THREADS…]      default: 1 4 16
#
# HOLDUP               the holdup to run (default: built here); libholdup_capture.so must be in the same folder
# HOLDUP_BENCH_DIR     where programs are compiled (default: target/bench)
# HOLDUP_BENCH_ROUNDS  rounds; each one runs every variant once, in its own process (default: 15)
# HOLDUP_BENCH_PARTS   some of "turns processes pytorch" (default: all; pytorch only if it is installed)
# HOLDUP_BENCH_LEVELS  some of "light full" (default: both)
# HOLDUP_BENCH_SECONDS seconds that a run launches (default: 0.2)
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

threads=("$@")
[ ${#threads[@]} -gt 0 ] || threads=(1 4 16)
dir=${HOLDUP_BENCH_DIR:-$here/target/bench}/overhead
mkdir -p "$dir"
if [ -z "${HOLDUP:-}" ]; then
    (cd "$here" && cargo build --profile dist --quiet)
    HOLDUP=${CARGO_TARGET_DIR:-$here/target}/dist/holdup
fi

cuda=$(cd "$(dirname "$(readlink -f "$(command -v nvcc)")")/.." && pwd)
library=$(dirname "$(find -L "$cuda" -name libcupti.so -print -quit)")
include=$(dirname "$(find -L "$cuda" -name cupti.h -print -quit)")
nvcc -O2 -o "$dir/launch" "$here/benches/overhead/launch.cu"
gcc -O2 -shared -fPIC -I"$include" -I"$cuda/include" -o "$dir/cupti_only.so" "$here/benches/overhead/cupti_only.c" \
    -L"$library" -lcupti -Wl,-rpath,"$library"
gcc -O2 -shared -fPIC -o "$dir/turns.so" "$here/benches/overhead/turns.c" -ldl

export HOLDUP_BENCH_PARTS=${HOLDUP_BENCH_PARTS:-turns processes pytorch} HOLDUP_BENCH_LEVELS=${HOLDUP_BENCH_LEVELS:-light full}
exec python3 "$here/benches/overhead.py" "$HOLDUP" "$dir" "$here/benches/overhead/launch.py" \
    "${HOLDUP_BENCH_ROUNDS:-15}" "${HOLDUP_BENCH_SECONDS:-0.2}" "${threads[@]}"
