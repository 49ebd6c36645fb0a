#!/bin/sh
# Makes .venv with the packages of requirements.lock, and the project itself in it.
# Run again it does nothing, and needs no network, unless the lock, pyproject.toml, the folder's
# place or the Python behind .venv has changed. PYTHON=... names the Python to use.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
venv=$root/.venv
lock=requirements.lock
# What the present .venv was made from: copies, so that any difference counts and none is guessed.
installed_lock=$venv/.installed-requirements.lock
installed_project=$venv/.installed-pyproject.toml
installed_place=$venv/.installed-place

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

is_new_enough() {
    # A name on PATH may be absent, or a stub that runs nothing (pyenv's are): each one is tried.
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is no Python 3.11 or newer that runs."
        printf '%s\n' "$PYTHON"
        return
    fi
    found=
    for candidate in python3.13 python3.12 python3.11 python3; do
        is_new_enough "$candidate" || continue
        if can_make_venv "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
        found=${found:-$candidate}
    done
    [ -n "$found" ] || fail "no Python 3.11 or newer was found; install one (Debian 12 or newer:" \
        "apt-get install python3 python3-venv) or name it: PYTHON=/path/to/python3 make setup"
    printf '%s\n' "$found"
}

provide_ensurepip() {
    # Debian keeps ensurepip, which `venv` needs for pip, in a package of its own.
    can_make_venv "$1" && return
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "$1 cannot make virtual environments (ensurepip is missing); run as root:" \
            "apt-get install python$version-venv"
    fi
    say "installing Debian's python3-venv, which $1 lacks"
    DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    # Debian's lists are empty on a fresh machine, and installing fails without them.
    apt-get update -q </dev/null >&2
    apt-get install -q -y --no-install-recommends python3-venv </dev/null >&2
    # python3-venv serves the release's own Python; another one has a package of its own.
    can_make_venv "$1" ||
        apt-get install -q -y --no-install-recommends "python$version-venv" </dev/null >&2
    can_make_venv "$1" || fail "$1 still cannot make virtual environments; see what apt-get said."
}

same() { cmp -s "$1" "$2" 2>/dev/null; }

made_here() {
    # Scripts in .venv name its absolute path: a copied or moved one has to be made again.
    [ -f "$installed_place" ] && [ "$(cat "$installed_place")" = "$root" ] &&
        "$venv/bin/python" -c '' >/dev/null 2>&1
}

if made_here && same "$lock" "$installed_lock" && same pyproject.toml "$installed_project"; then
    exit 0
fi

if ! made_here; then
    python=$(find_python)
    provide_ensurepip "$python"
    say "making .venv with $("$python" --version 2>&1)"
    "$python" -m venv --clear "$venv"
    printf '%s\n' "$root" >"$installed_place"
fi

if ! same "$lock" "$installed_lock"; then
    say "installing the packages of $lock"
    rm -f "$installed_lock"
    "$venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet \
        --require-hashes --requirement "$lock" ||
        fail "the packages of $lock could not be installed; see above. They come from the" \
            "package index that pip is set up for, so check that it can be reached and run again."
    cp "$lock" "$installed_lock"
fi

# Without isolation: the build backend is in the lock, so this step needs no network.
rm -f "$installed_project"
"$venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet \
    --no-deps --no-build-isolation --no-index --editable .
cp pyproject.toml "$installed_project"
say "ready: .venv/bin/logicalrag"
