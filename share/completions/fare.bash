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
        --completion|--color|--data|--seed|--epochs|--steps|--engine|--threads|--precision|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--ledger|--against|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--output|--format|--gpus|--price-per-hour|--started) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
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
    --ledger)
        COMPREPLY=()
        return
        ;;
    --against)
        COMPREPLY=()
        return
        ;;
    --workload)
        COMPREPLY=()
        return
        ;;
    --framework)
        COMPREPLY=()
        return
        ;;
    --gpu)
        COMPREPLY=()
        return
        ;;
    --machine)
        COMPREPLY=()
        return
        ;;
    --name)
        COMPREPLY=()
        return
        ;;
    --ended)
        COMPREPLY=($(compgen -W 'finished sampled stopped failed' -- "$cur"))
        return
        ;;
    --label)
        COMPREPLY=()
        return
        ;;
    --since)
        COMPREPLY=()
        return
        ;;
    --last)
        COMPREPLY=()
        return
        ;;
    --sort)
        COMPREPLY=($(compgen -W 'started step wall name' -- "$cur"))
        return
        ;;
    --output)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --format)
        COMPREPLY=($(compgen -W 'fare keras-csv dawnbench mllog hyperfine' -- "$cur"))
        return
        ;;
    --gpus)
        COMPREPLY=()
        return
        ;;
    --price-per-hour)
        COMPREPLY=()
        return
        ;;
    --started)
        COMPREPLY=()
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $command in
    '') words='check run runs workloads help --no-cloud --version -V --man --completion --json-keys --json --color --help -h' ;;
    check) words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    run) words=' --full --data --seed --epochs --steps --engine --threads -t --precision --checkpoint --checkpoint-every --resume --from --generate --n --m --dim --json --color --help -h' ;;
    runs) words=' --ledger --against --published --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --output -o --format --gpus --price-per-hour --started --json --color --help -h' ;;
    workloads) words=' --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
