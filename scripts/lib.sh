# Shared by the scripts beside it; sourced, never run. Leaves the shell in the repository root.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$ROOT"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

VENV="$ROOT/.venv"
PY="$VENV/bin/python"
# The second Triton that the suite runs on, beside the one of the `dev` extra.
OTHER_TRITON=3.9.0

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 2; }

# Runs a command silently; shows what it printed only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || { say "failed ($status): $*"; cat "$log" >&2; }
    rm -f "$log"
    return "$status"
}

# Prints the first Python on the PATH that is new enough and able to make environments ($PYTHON is tried first).
find_python() {
    local name candidate
    for name in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.10 python3.14 python; do
        while IFS= read -r candidate; do
            if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; then
                "$candidate" -c 'import sys; print(sys.executable)'
                return 0
            fi
        done < <(type -aP "$name" || true)
    done
    die "no Python >= 3.10 with venv and pip on the PATH (Debian: the package python3-venv); PYTHON=/path names one"
}

# Path of the interpreter that has only Triton $1.
triton_python() { printf '%s\n' "$ROOT/.venvs/triton-$1/bin/python"; }

# Makes .venv if it is missing or out of date.
ensure_venv() { "$ROOT/scripts/setup"; }
