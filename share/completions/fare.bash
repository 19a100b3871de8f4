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
        --completion|--color|--within|--max-time|--steps|--repeat|--data|--seed|--epochs|--batch|--engine|--threads|--precision|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--name|--label) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
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
    --within)
        COMPREPLY=()
        return
        ;;
    --max-time)
        COMPREPLY=()
        return
        ;;
    --steps)
        COMPREPLY=()
        return
        ;;
    --repeat)
        COMPREPLY=()
        return
        ;;
    --data)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --seed)
        COMPREPLY=()
        return
        ;;
    --epochs)
        COMPREPLY=()
        return
        ;;
    --batch)
        COMPREPLY=()
        return
        ;;
    --engine)
        COMPREPLY=($(compgen -W 'cpu ref' -- "$cur"))
        return
        ;;
    --threads)
        COMPREPLY=()
        return
        ;;
    --precision)
        COMPREPLY=($(compgen -W 'f32 bf16' -- "$cur"))
        return
        ;;
    --checkpoint)
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    --checkpoint-every)
        COMPREPLY=()
        return
        ;;
    --from)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --generate)
        COMPREPLY=()
        return
        ;;
    --n)
        COMPREPLY=()
        return
        ;;
    --m)
        COMPREPLY=()
        return
        ;;
    --dim)
        COMPREPLY=()
        return
        ;;
    --name)
        COMPREPLY=()
        return
        ;;
    --label)
        COMPREPLY=()
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $command in
    '') words='check run workloads help --no-cloud --version -V --man --completion --json-keys --json --color --help -h' ;;
    check) words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    run) words=' --full --within --max-time --steps --repeat --data --seed --epochs --batch --engine --threads -t --precision --checkpoint --checkpoint-every --resume --from --generate --hard-gates --auxiliary --n --m --dim --name --label --no-cloud --json --color --help -h' ;;
    workloads) words=' --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
