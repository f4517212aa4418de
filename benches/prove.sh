#!/usr/bin/env bash
# How often `holdup prove` calls a command different from itself: at 95 %, at most one in twenty times.
#
#   benches/prove.sh [PROOFS] [COMMAND...]     default: 200 of python3 -c 'sum(range(300000))'
#
# HOLDUP is the program, ROUNDS the rounds of each proof. Prints the count of each verdict and all gains.
set -euo pipefail

holdup=${HOLDUP:-target/release/holdup}
proofs=${1:-200}
shift || true
[ $# -gt 0 ] || set -- python3 -c 'sum(range(300000))'

results=$(mktemp)
trap 'rm -f "$results"' EXIT
for _ in $(seq "$proofs"); do
    # A variable of the same length on both sides: the size of the environment moves the stack.
    SIDE=1 "$holdup" prove --with SIDE=2 --rounds "${ROUNDS:-12}" --format json -- "$@" >>"$results"
done
python3 - "$results" <<'PYTHON'
import collections
import json
import sys

decoder, text, proofs = json.JSONDecoder(), open(sys.argv[1]).read().strip(), []
while text:
    proof, end = decoder.raw_decode(text)
    proofs.append(proof)
    text = text[end:].lstrip()
verdicts = collections.Counter(proof["verdict"] for proof in proofs)
different = verdicts["faster"] + verdicts["slower"]
outside = sum(not proof["gain"]["low"] <= 0 <= proof["gain"]["high"] for proof in proofs)
unsteady = sum(not proof["certain"] for proof in proofs)
widths = sorted((proof["gain"]["high"] - proof["gain"]["low"]) / 2 for proof in proofs)
print(dict(verdicts))
print(f"{different} of {len(proofs)} called different ({different / len(proofs):.1%}), {outside} intervals exclude 0")
print(f"{unsteady} controls differ, median half width {widths[len(widths) // 2]:.2%}")
print(" ".join(f"{proof['gain']['share']:+.2%}" for proof in proofs))
PYTHON
