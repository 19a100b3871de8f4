# Made from the option tables by 'fare --completion bash'. Do not edit.
_fare() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command='' words='' i path
    # bash splits --name=value into three words
    [[ $cur == = ]] && cur=''
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) return ;;
        --color|--within|--max-time|--max-spend|--offer|--name|--label|--ledger|--step-pattern|--total-steps|--total-epochs|--grace|--kwh|--report|--completion|--steps|--repeat|--data|--seed|--epochs|--batch|--engine|--threads|--precision|--with|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--step-pattern|--total-steps|--total-epochs|--grace|--within|--max-time|--max-spend|--offer|--name|--label|--ledger|--ledger|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--against|--ledger|--output|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--format|--workload|--framework|--machine|--gpu|--gpus|--provider|--price-per-hour|--started|--label|--ledger|--token-file|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--ledger|--book|--format|--offer|--gpu|--provider|--region|--kind|--date|--max-age|--rule|--commit|--used-before|--boot|--storage|--keep|--egress|--ingress|--hour-of-mine|--deadline|--budget|--hours-per-month|--runs|--buy|--resale|--watts|--kwh|--life|--base|--format|--ledger|--workload|--published|--price|--offer|--date|--rule|--book|--date|--gpu|--gpus|--gpu-memory|--vcpus|--memory|--provider|--region|--kind|--max-price|--max-age|--last|--book|--date|--book|--date|--format|--book|--date|--format|--up|--offer|--rate|--date|--month|--tasks|--disk|--disk-rate|--rules|--rule-rate|--function-ms|--function-rate|--always-up|--output|--format|--plot|--ledger|--book|--workload|--published|--base|--price|--offer|--date|--rule|--deadline|--buy|--resale|--watts|--kwh|--life|--hours-per-month|--listen|--token-file|--ledger|--book) [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
        -*) ;;
        *)
            path=${command:+$command }${COMP_WORDS[i]}
            case $path in ''|'check'|'run'|'runs'|'runs list'|'runs show'|'runs export'|'runs import'|'runs push'|'runs delete'|'workloads'|'workloads list'|'workloads show'|'workloads data'|'workloads data list'|'workloads data get'|'workloads data path'|'workloads python-helper'|'quote'|'compare'|'prices'|'prices list'|'prices show'|'prices import'|'prices update'|'cron'|'report'|'serve') command=$path ;; esac
            ;;
        esac
    done
    case "$command $prev" in
    ' --report')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    ' --completion')
        COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur"))
        return
        ;;
    'run'' --data')
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    'run'' --engine')
        COMPREPLY=($(compgen -W 'cuda cpu ref' -- "$cur"))
        return
        ;;
    'run'' --precision')
        COMPREPLY=($(compgen -W 'f32 tf32 bf16' -- "$cur"))
        return
        ;;
    'run'' --checkpoint')
        COMPREPLY=($(compgen -d -- "$cur"))
        return
        ;;
    'run'' --from')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'runs'' --ended')
        COMPREPLY=($(compgen -W 'finished sampled stopped failed killed' -- "$cur"))
        return
        ;;
    'runs'' --sort')
        COMPREPLY=($(compgen -W 'started step wall name' -- "$cur"))
        return
        ;;
    'runs list'' --ended')
        COMPREPLY=($(compgen -W 'finished sampled stopped failed killed' -- "$cur"))
        return
        ;;
    'runs list'' --sort')
        COMPREPLY=($(compgen -W 'started step wall name' -- "$cur"))
        return
        ;;
    'runs export'' --output')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'runs export'' --ended')
        COMPREPLY=($(compgen -W 'finished sampled stopped failed killed' -- "$cur"))
        return
        ;;
    'runs export'' --sort')
        COMPREPLY=($(compgen -W 'started step wall name' -- "$cur"))
        return
        ;;
    'runs import'' --format')
        COMPREPLY=($(compgen -W 'fare keras-csv dawnbench mllog hyperfine' -- "$cur"))
        return
        ;;
    'runs push'' --token-file')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'runs push'' --ended')
        COMPREPLY=($(compgen -W 'finished sampled stopped failed killed' -- "$cur"))
        return
        ;;
    'runs push'' --sort')
        COMPREPLY=($(compgen -W 'started step wall name' -- "$cur"))
        return
        ;;
    'quote'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'quote'' --format')
        COMPREPLY=($(compgen -W 'table json focus' -- "$cur"))
        return
        ;;
    'quote'' --kind')
        COMPREPLY=($(compgen -W 'on-demand spot monthly' -- "$cur"))
        return
        ;;
    'quote'' --rule')
        COMPREPLY=($(compgen -W 'paid prorated' -- "$cur"))
        return
        ;;
    'compare'' --format')
        COMPREPLY=($(compgen -W 'table csv md json' -- "$cur"))
        return
        ;;
    'compare'' --rule')
        COMPREPLY=($(compgen -W 'paid prorated' -- "$cur"))
        return
        ;;
    'prices'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'prices'' --kind')
        COMPREPLY=($(compgen -W 'on-demand spot monthly' -- "$cur"))
        return
        ;;
    'prices list'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'prices list'' --kind')
        COMPREPLY=($(compgen -W 'on-demand spot monthly' -- "$cur"))
        return
        ;;
    'prices show'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'prices import'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'prices import'' --format')
        COMPREPLY=($(compgen -W 'skypilot gpuhunt aws-spot aws-spot-advisor fare' -- "$cur"))
        return
        ;;
    'prices update'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'prices update'' --format')
        COMPREPLY=($(compgen -W 'skypilot gpuhunt aws-spot aws-spot-advisor fare' -- "$cur"))
        return
        ;;
    'report'' --output')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'report'' --format')
        COMPREPLY=($(compgen -W 'html md csv json focus openmetrics' -- "$cur"))
        return
        ;;
    'report'' --plot')
        COMPREPLY=($(compgen -W 'cost relative frontier accuracy use steps batch gpus prices buy' -- "$cur"))
        return
        ;;
    'report'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'report'' --rule')
        COMPREPLY=($(compgen -W 'paid prorated' -- "$cur"))
        return
        ;;
    'serve'' --token-file')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    'serve'' --book')
        COMPREPLY=($(compgen -f -- "$cur"))
        return
        ;;
    *' --color')
        COMPREPLY=($(compgen -W 'auto always never' -- "$cur"))
        return
        ;;
    esac
    case $prev in --color|--within|--max-time|--max-spend|--offer|--name|--label|--ledger|--step-pattern|--total-steps|--total-epochs|--grace|--kwh|--report|--completion|--steps|--repeat|--data|--seed|--epochs|--batch|--engine|--threads|--precision|--with|--checkpoint|--checkpoint-every|--from|--generate|--n|--m|--dim|--step-pattern|--total-steps|--total-epochs|--grace|--within|--max-time|--max-spend|--offer|--name|--label|--ledger|--ledger|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--against|--ledger|--output|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--format|--workload|--framework|--machine|--gpu|--gpus|--provider|--price-per-hour|--started|--label|--ledger|--token-file|--workload|--framework|--gpu|--machine|--name|--ended|--label|--since|--last|--sort|--ledger|--ledger|--book|--format|--offer|--gpu|--provider|--region|--kind|--date|--max-age|--rule|--commit|--used-before|--boot|--storage|--keep|--egress|--ingress|--hour-of-mine|--deadline|--budget|--hours-per-month|--runs|--buy|--resale|--watts|--kwh|--life|--base|--format|--ledger|--workload|--published|--price|--offer|--date|--rule|--book|--date|--gpu|--gpus|--gpu-memory|--vcpus|--memory|--provider|--region|--kind|--max-price|--max-age|--last|--book|--date|--book|--date|--format|--book|--date|--format|--up|--offer|--rate|--date|--month|--tasks|--disk|--disk-rate|--rules|--rule-rate|--function-ms|--function-rate|--always-up|--output|--format|--plot|--ledger|--book|--workload|--published|--base|--price|--offer|--date|--rule|--deadline|--buy|--resale|--watts|--kwh|--life|--hours-per-month|--listen|--token-file|--ledger|--book) COMPREPLY=(); return ;; esac
    case $command in
    '') words='check run runs workloads quote compare prices cron report serve help --within --max-time --max-spend --offer --name --label --ledger --no-ledger --no-cloud --step-pattern --total-steps --total-epochs --grace --kwh --report --no-report --version -V --man --completion --json-keys --json --color --help -h' ;;
    'check') words=' --bandwidth -b --no-cloud --strict --json --color --help -h' ;;
    'run') words=' --full --steps --repeat --data --seed --epochs --batch --engine --threads -t --precision --with --checkpoint --checkpoint-every --resume --from --generate --hard-gates --auxiliary --n --m --dim --step-pattern --total-steps --total-epochs --grace --within --max-time --max-spend --offer --name --label --ledger --no-ledger --no-cloud --json --color --help -h' ;;
    'runs') words='list show export import push delete --ledger --published --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --ledger --against --json --color --help -h' ;;
    'runs list') words=' --ledger --published --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --json --color --help -h' ;;
    'runs show') words=' --ledger --against --json --color --help -h' ;;
    'runs export') words=' --ledger --output -o --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --json --color --help -h' ;;
    'runs import') words=' --ledger --format --workload --framework --machine --gpu --gpus --provider --price-per-hour --started --label --json --color --help -h' ;;
    'runs push') words=' --ledger --token-file --workload --framework --gpu --machine --name --ended --label --since --last -n --all -a --sort --json --color --help -h' ;;
    'runs delete') words=' --ledger --json --color --help -h' ;;
    'workloads') words='list show data python-helper --json --color --help -h' ;;
    'workloads list') words=' --json --color --help -h' ;;
    'workloads show') words=' --json --color --help -h' ;;
    'workloads data') words='list get path --json --color --help -h' ;;
    'workloads data list') words=' --json --color --help -h' ;;
    'workloads data get') words=' --json --color --help -h' ;;
    'workloads data path') words=' --json --color --help -h' ;;
    'workloads python-helper') words=' --json --color --help -h' ;;
    'quote') words=' --ledger --book --format --pinned --offer --gpu --provider --region --kind --spot --all -a --date --max-age --rule --commit --interrupted --used-before --boot --storage --keep --egress --ingress --hour-of-mine --deadline --budget --hours-per-month --runs --buy --resale --watts --kwh --life --json --color --help -h' ;;
    'compare') words=' --base -b --format -f --ledger --workload -w --published --price -p --offer -o --date -d --rule -r --json --color --help -h' ;;
    'prices') words='list show import update --book --date --gpu --gpus --gpu-memory --vcpus --memory --provider --region --kind --spot --bare-metal --max-price --max-age --last -n --all -a --json --color --help -h' ;;
    'prices list') words=' --book --date --gpu --gpus --gpu-memory --vcpus --memory --provider --region --kind --spot --bare-metal --max-price --max-age --last -n --all -a --json --color --help -h' ;;
    'prices show') words=' --book --date --json --color --help -h' ;;
    'prices import') words=' --book --date --format --json --color --help -h' ;;
    'prices update') words=' --book --date --format --json --color --help -h' ;;
    'cron') words=' --up --offer --rate --date --month --tasks --disk --disk-rate --rules --rule-rate --function-ms --function-rate --always-up --json --color --help -h' ;;
    'report') words=' --output -o --format -f --plot --ledger --book --workload -w --published --all -a --base -b --price -p --offer --date -d --rule -r --deadline --buy --resale --watts --kwh --life --hours-per-month --json --color --help -h' ;;
    'serve') words=' --listen -l --token-file --public --ledger --book --json --color --help -h' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fare fare
