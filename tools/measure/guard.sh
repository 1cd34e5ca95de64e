#!/usr/bin/env bash
# Has the speed against PyTorch, or the overhead of a step, become worse? In three minutes. tools/measure/guard.sh --help
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/guard.py" "$@"
