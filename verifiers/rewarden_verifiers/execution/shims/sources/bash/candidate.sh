# The candidate's room: loads the program, and calls its functions with texts. Their output is their value.
source rewarden/values.sh
REWARDEN_MODE=$1
set --
source ./solution.sh

set +e
{ builtin printf 'l 1\n'; rewarden_texts loaded; } >&99
while true; do
  rewarden_read_count # of a message
  rewarden_read       # "call"
  rewarden_read
  REWARDEN_NAME=$REWARDEN_TEXT
  rewarden_read_count
  REWARDEN_ARGS=()
  for ((REWARDEN_LEFT = REWARDEN_COUNT; REWARDEN_LEFT > 0; REWARDEN_LEFT--)); do
    rewarden_read
    REWARDEN_ARGS+=("$REWARDEN_TEXT")
  done
  rewarden_read # no object is made here
  if ! builtin declare -F -- "$REWARDEN_NAME" > /dev/null; then
    { builtin printf 'l 1\n'; rewarden_texts absent; } >&99
    continue
  fi
  REWARDEN_TEXT=$("$REWARDEN_NAME" "${REWARDEN_ARGS[@]}" 98<&- 99>&-)
  REWARDEN_STATUS=$?
  {
    builtin printf 'l 2\n'
    rewarden_texts value
    if [[ $REWARDEN_MODE = serve ]]; then builtin printf 'l 2\ni %s\n' "$REWARDEN_STATUS"; fi
    rewarden_texts "$REWARDEN_TEXT"
  } >&99
done
