PS1= PS2=
unset PROMPT_COMMAND HISTFILE TMOUT
set +o history +o histexpand
# Each variable with its declaration. It runs in a subshell, so that its own variables are nobody's.
__rewarden_variables() (
    set +eux
    exec 2>/dev/null
    for __rewarden_name in $(\builtin compgen -v); do
        case "$__rewarden_skip|_|BASHPID|PIPESTATUS|FUNCNAME|OLDPWD|" in *"|$__rewarden_name|"*) continue ;; esac
        case "$__rewarden_name" in __rewarden_*|BASH_*) continue ;; esac
        \builtin declare -n __rewarden_ref=$__rewarden_name
        __rewarden_text=$(\builtin declare -p "$__rewarden_name")
        \builtin printf 'declared\0%s\0%s\0%s\0%s\0' "$__rewarden_name" "${__rewarden_text:0:300}" \
            "${#__rewarden_ref[@]}" "${#__rewarden_ref}" >&@RECORDS@
        \builtin unset -n __rewarden_ref
        (( --__rewarden_most )) || break
    done
    \builtin true
)
{ \builtin printf 'initial\0%s\0ready\0' "$(\builtin compgen -v)" >&@RECORDS@; }
