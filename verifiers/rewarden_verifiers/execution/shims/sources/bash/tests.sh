# The tests' room: the entry point asks the other room. In one process (`shared`), it is the program's own.
source rewarden/values.sh

# Reports an answer of another shape, and waits for its end.
rewarden_refuse() {
  { builtin printf 'l 1\n'; rewarden_texts bad_frame; } >&99
  while builtin read -r -u 98; do :; done
  builtin exit 1
}

# Calls a function of the other room, prints its output, and has its exit status.
rewarden_ask() {
  local line
  local -i status
  {
    builtin printf 'l 3\n'
    rewarden_texts call "$1"
    builtin printf 'l %s\n' "$(($# - 1))"
    rewarden_texts "${@:2}"
  } >&99
  rewarden_read_count # of a message
  rewarden_read
  IFS= builtin read -r -u 98 line || builtin exit 1
  if [[ $REWARDEN_TEXT != value || $line != 'l 2' ]]; then rewarden_refuse; fi
  IFS= builtin read -r -u 98 line || builtin exit 1
  if [[ ! $line =~ ^'i '([0-9]{1,3})$ ]]; then rewarden_refuse; fi
  status=${line:2}
  IFS= builtin read -r -u 98 line || builtin exit 1
  if [[ $line != 's '* ]]; then rewarden_refuse; fi
  builtin printf -v REWARDEN_TEXT '%b' "${line:2}"
  if [[ -n $REWARDEN_TEXT ]]; then builtin printf '%s\n' "$REWARDEN_TEXT"; fi
  return "$status"
}

REWARDEN_MODE=$1 REWARDEN_ENTRY=$2 REWARDEN_SECRET=
set --
if [[ $REWARDEN_MODE = shared ]]; then
  IFS= builtin read -r -u 98 # the number of parts
  IFS= builtin read -r -u 98 REWARDEN_SECRET
  REWARDEN_SECRET=${REWARDEN_SECRET:2}
  source ./solution.sh
else
  builtin eval "$REWARDEN_ENTRY() { rewarden_ask $REWARDEN_ENTRY \"\$@\"; }"
fi
if [[ -n $REWARDEN_ENTRY ]]; then builtin eval "candidate() { $REWARDEN_ENTRY \"\$@\"; }"; fi

source ./tests_code.sh
REWARDEN_STATUS=$?
if [[ $REWARDEN_STATUS = 0 ]]; then { builtin printf 'l 2\n'; rewarden_texts finished "$REWARDEN_SECRET"; } >&99; fi
builtin exit "$REWARDEN_STATUS"
