#!/usr/bin/env bash
# Makes the environments that the tests of this folder need, installs the wheel
# into them and runs the tests: `make trainers`. TRAINERS is where they are kept.
#
#   run.sh WHEEL [environment …]
#   run.sh --prepare [environment …]   only fetches the packages
set -euo pipefail
[ "$1" = --prepare ] && wheel="" || wheel=$(realpath "$1")
shift
cd "$(dirname "$0")"
at=${TRAINERS:-$PWD/../../../runs/trainers}
mkdir -p "$at" && at=$(realpath "$at")

# Which tests each environment is for: what none else names is for the trainers.
tests() {
  case $1 in
    verifiers) printf '%s\n' test_verifiers.py test_verifiers_v1_environment.py test_verifiers_v1_plugin.py ;;
    nemo-gym) echo test_nemo_gym_http.py ;;
    reward-kit) echo test_reward_kit_http.py ;;
    trainers) ls test_*.py | grep -v -x -F "$(tests verifiers; tests nemo-gym; tests reward-kit)" ;;
  esac
}

if ! command -v uv >/dev/null; then
  [ -x "$at/uv/bin/uv" ] || { python3 -m venv "$at/uv" && "$at/uv/bin/pip" install --quiet uv==0.13.9; }
  PATH="$at/uv/bin:$PATH"
fi

# A Python 3.12, which NeMo Gym needs; the others are content with 3.11.
python() {
  for p in python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python $([ "$1" = nemo-gym ] || echo python3.11); do
    if "$p" -c "" 2>/dev/null; then command -v "$p"; return; fi
  done
  echo "$1 needs Python 3.12 or, except for nemo-gym, 3.11: install one, or put it on PATH" >&2
  return 1
}

# Nothing is fetched from a model hub, and nobody is told anything. LiteLLM
# would ask for its price list before a test could say so.
export HF_HUB_OFFLINE=1 WANDB_MODE=disabled LITELLM_LOCAL_MODEL_COST_MAP=True RAY_USAGE_STATS_ENABLED=0 RAY_AUTH_MODE=disabled PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH MERIT_BINARY MERIT_SERVER
[ $# -gt 0 ] || set -- trainers verifiers nemo-gym reward-kit
for name; do
  env=$at/$name begun=$SECONDS
  [ -x "$env/bin/python" ] || uv venv --quiet --no-project --python "$(python "$name")" "$env"
  uv pip sync --quiet --python "$env/bin/python" "requirements-$name.txt"
  # What these require (flash-attn, deepspeed, an older TRL) is for training; their code that calls rewards needs none of it.
  [ "$name" != trainers ] || uv pip install --quiet --python "$env/bin/python" --no-deps -r requirements-alone.txt
  printf '%s: %s MB, installed in %s s\n' "$name" "$(du -sm "$env" | cut -f1)" $((SECONDS - begun))
  [ -n "$wheel" ] || continue
  uv pip install --quiet --python "$env/bin/python" --no-deps --reinstall "$wheel"
  # shellcheck disable=SC2046  # names without spaces
  PATH="$env/bin:$PATH" "$env/bin/python" -m pytest -q -p no:cacheprovider -W ignore --durations=3 $(tests "$name")
done
