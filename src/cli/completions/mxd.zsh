#compdef mxd
# Zsh completion of mxd: the program lists the words, so tasks, profiles, settings and themes are offered as well.
_mxd() {
    local line word about tab=$'\t'
    local -a candidates
    while IFS= read -r line; do
        word="${line%%${tab}*}"
        about=""
        if [[ "$line" == *${tab}* ]]; then
            about=":${line#*${tab}}"
        fi
        # A colon separates a word from its description.
        candidates+=("${word//:/\\:}${about}")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#candidates} )); then
        # Without -U zsh would drop a task that matches by its title.
        _describe -V mxd candidates -U
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_mxd" ]; then
    _mxd "$@"
else
    compdef _mxd mxd
fi
