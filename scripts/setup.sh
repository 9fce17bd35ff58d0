# What ./run and ./test share: a finished .venv and the OS packages, or a sentence that says what is missing.
# shellcheck shell=bash

here=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
venv=$here/.venv
log=$here/.setup/log
unset PYTHONHOME PYTHONPATH            # another Python's modules
unset PYTHONDONTWRITEBYTECODE          # byte code, once kept, makes each later start seconds faster
export PIP_DISABLE_PIP_VERSION_CHECK=1 # pip is as old as the system's Python, and that will do

say() { printf '%s\n' "$*" >&2; }
die() { say "$@" && exit 1; }

# setup run|test: makes .venv hold all that ./run or ./test needs; costs milliseconds when it does already.
setup() {
  if finished "$1"; then return; fi
  mkdir -p "$here/.setup"
  exec 8>&2 9>"$here/.setup/lock"
  if ! flock -n 9; then
    say "Another set-up is at work in this folder; waiting for it."
    flock 9
  fi
  if ! finished "$1"; then install "$1"; fi
  exec 8>&- 9>&-
}

# need WHY PACKAGE=PROBE...: true when each probe (a command or a file) is there, or apt could bring it.
need() {
  local why=$1 package missing=()
  for package in "${@:2}"; do
    [[ -e ${package#*=} ]] || command -v "${package#*=}" >/dev/null || missing+=("${package%%=*}")
  done
  ((${#missing[@]} == 0)) || bring "$why" "${missing[@]}"
}

# --- inside ---------------------------------------------------------------------------------------------

finished() { [[ -x $venv/bin/python && ! -e $venv/.unfinished && -e $(stamp "$1") ]]; }

# A finished .venv has a stamp named for all that its contents follow from, its place and its Python included.
stamp() {
  local sum
  sum=$(cat "$here"/{pyproject.toml,constraints.txt} "$venv/pyvenv.cfg" <(echo "$here") | sha256sum)
  echo "$venv/.starverse-${sum:0:16}.$1"
}

# .venv/.unfinished is there from the first change to the last. Whatever ends us in between, the next start
# sees it and begins with an empty .venv.
install() {
  local began=$SECONDS extras=all torch
  [[ $1 == run ]] || extras+=,dev
  torch=$(grep '^torch==' "$here/constraints.txt")
  trap 'say "Interrupted; the next start sets up afresh." 2>&8 && exit 130' INT TERM
  : >"$log"
  say "Setting up Starverse in .venv (a minute or more, once)"

  need "to wall jobs off from each other" bubblewrap=bwrap || say "  Going on without it."
  if usable; then
    rm -f "$venv"/.starverse-*
    touch "$venv/.unfinished"
  else
    find_python
    rm -rf "$venv"/.starverse-* "$venv"
    mkdir "$venv"
    touch "$venv/.unfinished"
    step "an environment with $("$python" --version)" "$python" -m venv "$venv" || fail
  fi
  # pip chooses torch, since it heeds this machine's settings (CPU build, mirrors); uv must not.
  step "${torch/==/ }, the largest part" by_pip --no-compile "$torch" uv || fail
  step "all the rest" by_uv -e "${here}[$extras]" ||
    step "all the rest, by pip since uv could not" by_pip -e "${here}[$extras]" || fail
  # Else each run pays seconds for it, as a tenant's user that cannot write here.
  step "byte code" "$venv/bin/python" -m compileall -q -j 0 "$venv/lib" || true
  # Else the first start of a server waits for the compiler.
  "$venv/bin/python" -m starverse.main.warm </dev/null 2>>"$log" >&2 || true

  touch "$(stamp run)" "$(stamp "$1")"
  rm "$venv/.unfinished"
  trap - INT TERM
  say "  done in $((SECONDS - began)) s"
}

# An environment from before, in this very place and never half made: new versions can go on top of it.
usable() {
  [[ ! -e $venv/.unfinished ]] && grep -qsF "$venv" "$venv/bin/activate" &&
    "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
  look_for_python || { bring "to make .venv" "${lacking[@]}" && look_for_python; } ||
    die "Starverse needs Python 3.11 or newer with venv, as Debian 12 has: ${lacking[*]}"
}

# Sets `python` to one that is new enough and can make environments, else `lacking` to what apt should bring.
look_for_python() {
  lacking=(python3 python3-venv)
  for python in python3.11 python3.12 python3.13 python3.14 python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    lacking=("$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')")
  done
  return 1
}

by_pip() { "$venv/bin/python" -m pip install -c "$here/constraints.txt" "$@"; }

by_uv() {
  local index
  index=${PIP_INDEX_URL:-$("$venv/bin/python" -m pip config get global.index-url 2>/dev/null || true)}
  "$venv/bin/uv" pip install --python "$venv/bin/python" -c "$here/constraints.txt" \
    --excludes <(echo torch) ${index:+--default-index "$index"} "$@"
}

# bring WHY PACKAGE...: by apt when root; else says the line that would.
bring() {
  if ! command -v apt-get >/dev/null; then
    say "Missing: ${*:2} ($1). Please install it; on Debian: sudo apt-get install -y ${*:2}"
  elif ((EUID != 0)); then
    say "Missing: ${*:2} ($1). Please run: sudo apt-get install -y ${*:2}"
  else
    step "${*:2}, by apt ($1)" by_apt "${@:2}" && return
    say "apt could not bring ${*:2}; see $log"
  fi
  return 1
}

# Daemons that a package starts must not inherit our lock, hence the closing.
by_apt() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"
} 8>&- 9>&-

# step WHAT COMMAND...: says what is going on; the command's own words go to the log.
step() {
  say "  $1"
  mkdir -p "${log%/*}"
  "${@:2}" </dev/null >>"$log" 2>&1
}

fail() {
  say "That failed. Its last words:"
  tail -n 8 "$log" >&2
  die "All of them are in $log"
}
