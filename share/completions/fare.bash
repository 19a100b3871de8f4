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
        --within|--max-time|--name|--label|--ledger|--step-pattern|--total-steps|--total-epochs|--grace|--completion|--color|--steps|--repeat|--data|--seed|--epochs|--batch|--engine|--threads|--precision|--with|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--step-pattern|--total-steps|--total-epochs|--grace|--within|--max-time|--name|--label|--ledger|--ledger|--against|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--output|--format|--gpus|--price-per-hour|--started|--gpu|--gpus|--gpu-memory|--vcpus|--memory|--provider|--region|--kind|--max-price|--max-age|--date|--last|--format|--book) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
        -*) ;;
        help) ;;
        *) [[ -z $command ]] && command=${COMP_WORDS[i]} ;;
        esac
    done
    case $prev in
    --within)
        COMPREPLY=()
        return
        ;;
    --max-time)
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
    --ledger)
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
    --within)
        COMPREPLY=()
        return
        ;;
    --max-time)
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
    --ledger)
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
    --gpu)
        COMPREPLY=()
        return
        ;;
    --gpus)
        COMPREPLY=()
        return
        ;;
    --gpu-memory)
        COMPREPLY=()
        return
        ;;
    --vcpus)
        COMPREPLY=()
        return
        ;;
    --memory)
        COMPREPLY=()
        return
        ;;
    --provider)
        COMPREPLY=()
        return
        ;;
    --region)
        COMPREPLY=()
        return
        ;;
    --kind)
        COMPREPLY=($(compgen -W 'on-demand spot monthly' -- "$cur"))
        return
        ;;
    --max-price)
        COMPREPLY=()
        return
        ;;
    --max-age)
        COMPREPLY=()
        return
        ;;
    --date)
        COMPREPLY=()
        return
        ;;
    --last)
        COMPREPLY=()
        return
        ;;
    --format)
        COMPREPLY=($(compgen -W 'skypilot gpuhunt aws-spot aws-spot-advisor fare' -- "$cur"))
        return
        ;;
    --book)
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    --color)
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $command in
    '') words='check run runs prices workloads help --within --max-time --name --label --ledger --no-ledger --no-cloud --step-pattern --total-steps --total-epochs --grace --version -V --man --completion --json-keys --json --color --help -h' ;;
    check) words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    run) words=' --full --steps --repeat --data --seed --epochs --batch --engine --threads -t --precision --with --checkpoint --checkpoint-every --resume --from --generate --hard-gates --auxiliary --n --m --dim --step-pattern --total-steps --total-epochs --grace --within --max-time --name --label --ledger --no-ledger --no-cloud --json --color --help -h' ;;
    runs) words=' --ledger --against --published --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --output -o --format --gpus --price-per-hour --started --json --color --help -h' ;;
    prices) words=' --gpu --gpus --gpu-memory --vcpus --memory --provider --region --kind --spot --bare-metal --max-price --max-age --date --last -n --all -a --format --book --json --color --help -h' ;;
    workloads) words=' --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
