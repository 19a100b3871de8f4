# Made from the option tables by 'fare --completion bash'. Do not edit.
_fare() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command='' words='' i
    # bash splits --name=value into three words
    [[ $cur == = ]] && cur=''
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) return ;;
        --completion|--color) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
        -*) ;;
        help) ;;
        *) [[ -z $command ]] && command=${COMP_WORDS[i]} ;;
        esac
    done
    case $prev in
    --completion)
        COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur"))
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $command in
    '') words='check help --no-cloud --version -V --man --completion --json-keys --json --color --help -h' ;;
    check) words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
