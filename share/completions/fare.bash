_fare() {
    local line cur=${COMP_WORDS[COMP_CWORD]} IFS=$'\n'
    [[ $cur == = ]] && cur='' # bash splits --name=value into three words
    COMPREPLY=()
    for line in $("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    do
        case $line in
        :files) COMPREPLY+=($(compgen -f -- "$cur")) ;;
        :dirs) COMPREPLY+=($(compgen -d -- "$cur")) ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done
}
complete -F _fare fare
