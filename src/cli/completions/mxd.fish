# Fish completion of mxd: the program lists the words, so tasks, profiles, settings and themes are offered as well.
function __mxd_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c mxd -f -k -n 'test -n "$(__mxd_complete)"' -a '(__mxd_complete)'
