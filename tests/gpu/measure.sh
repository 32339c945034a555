#!/usr/bin/env bash
# Measures this package on a GPU, or on the CPU with a small shape where there is none.
#
#   tests/gpu/measure.sh [FILE]      # Markdown to FILE, else to standard output
#
# Under eight minutes on one GPU with 80 GB; nothing is downloaded. PYTHON names the interpreter, by
# default python3; torch and the extra "ppl" must be installed for it.
set -uo pipefail
cd "$(dirname "$0")/../.."
python="${PYTHON:-python3}"
out="${1:-/dev/stdout}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export HF_HUB_OFFLINE=1 OMP_WAIT_POLICY=PASSIVE PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"

device="$("$python" -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")')" || exit 2
failed=0

step() { # title, then the command whose output is shown
  local title="$1" begun=$SECONDS shown; shift
  shown="$*"
  printf '\n## %s\n\n```console\n$ %s\n' "$title" "${shown#"$python" -m }"
  "$@" 2>"$scratch/err" || { failed=1; tail -n 20 "$scratch/err"; echo "failed: $title" >&2; }
  printf '```\n\n%s seconds.\n' "$((SECONDS - begun))"
}

{
  "$python" -m tests.gpu.measure --device "$device" || failed=1
  step "The demo" "$python" -m ropeaudit ppl --demo --device "$device" --no-config
  step "A sweep" "$python" -m ropeaudit ppl fixtures/demo --preset quick --windows 8 \
    --device "$device" --no-config
  if [ "$device" = cuda ]; then
    step "Tests on the GPU" "$python" -m pytest -q -p no:cacheprovider -m gpu tests/gpu
  fi
  printf '\n%s seconds in all.\n' "$SECONDS"
} >"$out"
exit "$failed"
