# Texts in the messages of broker.py. The candidate may have redefined commands, so builtins are named as such.

# Prints texts as values of a message.
rewarden_texts() {
  local LC_ALL=C text one='\' two='\\' newline=$'\n' return=$'\r'
  for text; do
    text=${text//"$one"/"$two"}
    text=${text//"$newline"/"${one}n"}
    builtin printf 's %s\n' "${text//"$return"/"${one}r"}"
  done
}

# Reads a value into REWARDEN_TEXT: a list is separated by spaces, and a dictionary has a line `key,value` for each key.
rewarden_read() {
  local line count text
  local LC_ALL=C
  IFS= builtin read -r -u 98 line || builtin exit 0
  case $line in
    s*) builtin printf -v REWARDEN_TEXT '%b' "${line:2}" ;;
    [if]*) REWARDEN_TEXT=${line:2} ;;
    T) REWARDEN_TEXT=true ;;
    F) REWARDEN_TEXT=false ;;
    n) REWARDEN_TEXT= ;;
    l*)
      text=
      for ((count = ${line:2}; count > 0; count--)); do
        rewarden_read
        text+="$REWARDEN_TEXT "
      done
      REWARDEN_TEXT=${text% }
      ;;
    d*)
      text=
      for ((count = ${line:2}; count > 0; count--)); do
        rewarden_read
        text+="$REWARDEN_TEXT,"
        rewarden_read
        text+="$REWARDEN_TEXT"$'\n'
      done
      REWARDEN_TEXT=${text%$'\n'}
      ;;
  esac
}

# Reads the number of items of a list into REWARDEN_COUNT.
rewarden_read_count() {
  local line
  IFS= builtin read -r -u 98 line || builtin exit 0
  REWARDEN_COUNT=${line:2}
}
