# Bash completion of mxd: the program lists the words, so tasks, profiles, settings and themes are offered as well.
_mxd() {
    local line word tab=$'\t'
    local -a words=()
    COMPREPLY=()
    while IFS= read -r line; do
        words+=("$line")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    for line in "${words[@]}"; do
        word="${line%%"$tab"*}"
        # Several candidates are listed with their descriptions; a single one is inserted.
        if [[ ${#words[@]} -gt 1 && "$line" == *"$tab"* && "$word" != -* ]]; then
            COMPREPLY+=("$word  (${line#*"$tab"})")
        else
            COMPREPLY+=("$word")
        fi
    done
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
        compopt -o default 2>/dev/null
    fi
}
complete -o nosort -F _mxd mxd
