# The tests' room: the entry point asks the other room. In one process (`shared`), it is the program's own.
source rewarden/values.sh

# Calls a function of the other room, prints its output, and has its exit status.
rewarden_ask() {
  {
    builtin printf 'l 3\n'
    rewarden_texts call "$1"
    builtin printf 'l %s\n' "$(($# - 1))"
    rewarden_texts "${@:2}"
  } >&99
  rewarden_read_count # of a message
  rewarden_read       # "value"
  rewarden_read_count
  rewarden_read
  local status=$REWARDEN_TEXT
  rewarden_read
  if [[ -n $REWARDEN_TEXT ]]; then builtin printf '%s\n' "$REWARDEN_TEXT"; fi
  return "$status"
}

REWARDEN_MODE=$1 REWARDEN_ENTRY=$2
set --
if [[ $REWARDEN_MODE = shared ]]; then
  source ./solution.sh
else
  builtin eval "$REWARDEN_ENTRY() { rewarden_ask $REWARDEN_ENTRY \"\$@\"; }"
fi
if [[ -n $REWARDEN_ENTRY ]]; then builtin eval "candidate() { $REWARDEN_ENTRY \"\$@\"; }"; fi

source ./tests_code.sh
REWARDEN_STATUS=$?
if [[ $REWARDEN_STATUS = 0 ]]; then { builtin printf 'l 1\n'; rewarden_texts finished; } >&99; fi
builtin exit "$REWARDEN_STATUS"
