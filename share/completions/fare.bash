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
        --name|--step-pattern|--total-steps|--total-epochs|--grace|--completion|--color|--data|--seed|--epochs|--steps|--engine|--threads|--precision|--with|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--name|--step-pattern|--total-steps|--total-epochs|--grace) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
        -*) ;;
        help) ;;
        *) [[ -z $command ]] && command=${COMP_WORDS[i]} ;;
        esac
    done
    case $prev in
    --name)
        COMPREPLY=()
        return
        ;;
    --step-pattern)
        COMPREPLY=()
        return
        ;;
    --total-steps)
        COMPREPLY=()
        return
        ;;
    --total-epochs)
        COMPREPLY=()
        return
        ;;
    --grace)
        COMPREPLY=()
        return
        ;;
    --completion)
        COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur"))
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
    --steps)
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
    --with)
        COMPREPLY=()
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
    --step-pattern)
        COMPREPLY=()
        return
        ;;
    --total-steps)
        COMPREPLY=()
        return
        ;;
    --total-epochs)
        COMPREPLY=()
        return
        ;;
    --grace)
        COMPREPLY=()
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $command in
    '') words='check run workloads help --no-cloud --name --step-pattern --total-steps --total-epochs --grace --version -V --man --completion --json-keys --json --color --help -h' ;;
    check) words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    run) words=' --full --data --seed --epochs --steps --engine --threads -t --precision --with --checkpoint --checkpoint-every --resume --from --generate --n --m --dim --name --step-pattern --total-steps --total-epochs --grace --json --color --help -h' ;;
    workloads) words=' --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
