#!/usr/bin/env bash
# Measures what recording costs whole programs: bare, at level light and at level full by turns, samples and waits for Python's GIL
# recorded in both. Prints a Markdown table of rates and of how much slower each level is, with 95 % intervals. Needs a GPU, and
# what the programs need (PyTorch).
#
#     benches/real.sh [PROGRAM…]      default: those of benches/real; Python files whose output has rates, as `97.5 steps/s`, and may
#                                     have the pace of the processor, by which rates are compared, too (benches/real/pace.py)
#
# HOLDUP               the holdup to run (default: built here); libholdup_capture.so must be in the same folder
# HOLDUP_BENCH_ROUNDS  rounds; each one runs every variant once, in its own process (default: 10)
# HOLDUP_BENCH_LEVELS  levels, each with further options after commas (default: "light full"), as "full full,--sample-rate,0"
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

if [ -z "${HOLDUP:-}" ]; then
    (cd "$here" && cargo build --profile dist --quiet)
    HOLDUP=${CARGO_TARGET_DIR:-$here/target}/dist/holdup
fi
[ $# -gt 0 ] || set -- "$here"/benches/real/{generate,train}.py
exec python3 "$here/benches/real.py" "$HOLDUP" "${HOLDUP_BENCH_ROUNDS:-10}" "${HOLDUP_BENCH_LEVELS:-light full}" "$@"
