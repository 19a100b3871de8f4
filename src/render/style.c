// SPDX-License-Identifier: Apache-2.0
// The one style sheet of pages and drawings. Colours are named here and nowhere else: PALETTE gives
// pages their variables, PLOT gives drawings their rules, which programs without CSS variables read
// too. Sizes of text are 12, 14, 16, 20 and 28 pixels; distances are multiples of 4.
#include "render/markup.h"

// Any two colours of series differ from each other and from the paper with any kind of colour
// blindness; text has a contrast of 4.5 or more on whatever it stands
// (tests/view/test_colours.py).
#define LIGHT(use)                                                                                 \
    use("#fff", "#1c2128", "#57606a", "#dde2e7", "#e9edf1", "#0a4fb4", "#e3f3ea", "#e6eefb",       \
        "#fdf1dc", "#fbe6e1", "#0b4fc0", "#c47f00", "#2a9d6d", "#a57fba", "#8a1a05", "#1c1a20")
#define DARK(use)                                                                                  \
    use("#15181c", "#e6edf3", "#9aa5b1", "#3a424c", "#232930", "#7cb8ff", "#12332a", "#12303a",    \
        "#3a2c10", "#43201a", "#62e0f0", "#f7af41", "#07a16d", "#aa70c6", "#fdfd40", "#b15611")

#define PALETTE(paper, ink, mute, grid, band, link, ok, note, wait, bad, c0, c1, c2, c3, c4, c5)   \
    ":root{--paper:" paper ";--ink:" ink ";--mute:" mute ";--grid:" grid ";--band:" band           \
    ";--link:" link ";--ok:" ok ";--note:" note ";--wait:" wait ";--bad:" bad ";--c0:" c0          \
    ";--c1:" c1 ";--c2:" c2 ";--c4:" c4 "}"
#define SERIES(n, colour) ".plot .c" n "{fill:" colour "}.plot .s" n "{stroke:" colour "}"
#define PLOT(paper, ink, mute, grid, band, link, ok, note, wait, bad, c0, c1, c2, c3, c4, c5)      \
    ".plot text{fill:" ink "}.plot .mu,.plot .mu text{fill:" mute "}.plot .gr{stroke:" grid        \
    "}.plot .ax{stroke:" mute "}.plot .wh,.plot .rf{stroke:" ink "}.plot .bd{fill:" band           \
    "}.plot .bg{fill:" paper "}" SERIES("0", c0) SERIES("1", c1) SERIES("2", c2) SERIES("3", c3)   \
        SERIES("4", c4) SERIES("5", c5) ".plot .ho,.plot .pl{fill:" paper                          \
                                        "}.plot .ct,.plot .hl{stroke:" paper "}"
#define IN_THE_DARK(rules) "@media screen and (prefers-color-scheme:dark){" rules "}"
#define FONT               "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','DejaVu Sans',sans-serif"

const char plot_style[] =
    ".plot text{font:12px " FONT "}"
    ".plot .sm,.plot .sm text{font-size:11px}.plot .hd{font-weight:600}.plot "
    ".h1{font-size:16px;font-weight:600}"
    ".plot .mi{text-anchor:middle}.plot .en{text-anchor:end}"
    ".plot line,.plot path{fill:none}"
    ".plot .gr,.plot .ax,.plot .hx{stroke-width:1}.plot .wh,.plot .wo{stroke-width:1.5}"
    ".plot .rf{stroke-width:1.5;stroke-dasharray:5 3}.plot .ln{stroke-width:2}"
    ".plot .d1{stroke-dasharray:7 3}.plot .d2{stroke-dasharray:2 3}.plot .d3{stroke-dasharray:9 3 "
    "2 3}"
    ".plot .pl{fill-opacity:.6}.plot .rg{stroke-width:1}.plot .mk{stroke-width:1.8}.plot "
    ".ct{stroke-width:3}"
    ".plot .hl{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}" LIGHT(PLOT)
        IN_THE_DARK(DARK(PLOT));

// ---- pages, from the outside in

#define BODY                                                                                       \
    ":root{color-scheme:light dark}*{box-sizing:border-box}"                                       \
    "body{margin:0 auto;max-width:112rem;padding:0 1.5rem 3rem;background:var(--paper);"           \
    "color:var(--ink);font:16px/1.5 " FONT ";font-variant-numeric:tabular-nums}"                   \
    "h1,h2,h3,h4,p,li,dd{overflow-wrap:anywhere}h1,h2,h3{text-wrap:balance}"                       \
    "h1{font-size:1.75rem;line-height:1.25;margin:1.5rem 0 .5rem}"                                 \
    "h2{font-size:1.25rem;line-height:1.3;margin:2.5rem 0 .5rem}"                                  \
    "h3,h4{font-size:1rem;margin:0 0 .25rem}section>h3{margin-top:1.5rem}"                         \
    "p,ul,ol{max-width:46rem;margin:.25rem 0 1rem}li{margin:.25rem 0}"                             \
    "a,summary{color:var(--link)}.mute,.says,footer{color:var(--mute)}p.mute,ul.mute,.says{font-"  \
    "size:.875rem}"                                                                                \
    ":focus-visible{outline:2px solid var(--link);outline-offset:2px}"                             \
    "footer{margin-top:3rem;border-top:1px solid "                                                 \
    "var(--grid);padding-top:.75rem;font-size:.875rem}"
#define NAVIGATION                                                                                 \
    "nav ul{list-style:none;padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;"                 \
    "gap:.25rem 1.25rem;max-width:none}"                                                           \
    ".top{border-bottom:1px solid var(--grid)}.top ul{margin:0}.top li{margin:0}"                  \
    ".top a{display:block;padding:.75rem 0;color:inherit;text-decoration:none}"                    \
    ".top a:hover{text-decoration:underline}.top li:first-child{font-weight:700}"                  \
    ".top [aria-current]{box-shadow:inset 0 -2px var(--c0)}"
#define VERDICT                                                                                    \
    ".verdict{border-left:4px solid var(--c0);padding:.25rem 0 .25rem 1rem;max-width:60rem}"       \
    ".verdict p{margin:.25rem 0;max-width:none}"
// The figures that matter, chips, what to do next, a command to copy.
#define PARTS                                                                                      \
    ".stats{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,9rem),1fr));"       \
    "gap:.75rem;margin:1rem 0}"                                                                    \
    ".stats div,.card{border:1px solid var(--grid);border-radius:8px;padding:.75rem 1rem;"         \
    "min-width:0}"                                                                                 \
    ".stats dt,.stats .sub{font-size:.875rem;color:var(--mute)}.stats dd{margin:0}"                \
    ".stats dt::first-letter{text-transform:uppercase}"                                            \
    ".stats .big{font-size:1.25rem;line-height:1.5;font-weight:600}"                               \
    ".chip{display:inline-block;padding:0 .5rem;border-radius:4px;border:1px solid var(--mute);"   \
    "background:var(--band);color:var(--ink);font-size:.75rem;line-height:1.25rem;"                \
    "font-weight:400;white-space:nowrap;text-decoration:none}"                                     \
    ".chip.ok{background:var(--ok);border-color:var(--c2)}"                                        \
    ".chip.note{background:var(--note);border-color:var(--c0)}"                                    \
    ".chip.wait{background:var(--wait);border-color:var(--c1)}"                                    \
    ".chip.bad{background:var(--bad);border-color:var(--c4)}"                                      \
    "a.chip{border-radius:12px;line-height:1.5rem;max-width:100%;overflow-wrap:anywhere;"          \
    "white-space:normal}a.chip:hover{text-decoration:underline}"                                   \
    ".chip[aria-current]{background:var(--note);border-color:var(--c0)}"                           \
    ".chips{gap:.25rem .5rem;margin:.5rem 0}.chips li{margin:0}"                                   \
    ".empty{border:1px dashed var(--mute);border-radius:8px;padding:1rem;margin:1rem 0;"           \
    "max-width:46rem}.empty p{margin:0}"                                                           \
    "pre{font:.875rem/1.5 ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;"     \
    "background:var(--band);border-radius:4px;padding:.5rem .75rem;margin:.5rem 0 1rem;"           \
    "max-width:60rem;white-space:pre-wrap;overflow-wrap:anywhere}.empty pre{margin:.5rem 0 0}"     \
    ".opt{white-space:nowrap}"
#define FIGURES                                                                                    \
    ".panels{display:flex;flex-wrap:wrap;gap:1.5rem 2.5rem;margin:1rem 0}"                         \
    ".down{flex-direction:column;gap:.75rem}.many{display:block;columns:28.75rem;column-gap:2."    \
    "5rem}.many figure{break-inside:avoid;padding-bottom:1.5rem}figcaption h2{margin-top:1.5rem}"  \
    "figure{margin:0;min-width:0;max-width:100%}figure p{margin:0}"                                \
    "svg{display:block;max-width:100%;height:auto}.narrow,.id.narrow{display:none}"                \
    ".inline{display:inline-block;vertical-align:middle;width:96px;height:20px}"                   \
    ".rug{width:240px;height:20px}th .rug{margin-top:.25rem}"                                      \
    ".inline .ln{stroke-width:1.5}.num>.wide{display:block;line-height:1}"                         \
    "summary{cursor:pointer;width:max-content;max-width:100%;padding:.25rem 0}"                    \
    ".cols{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,46rem),1fr));"       \
    "gap:0 "                                                                                       \
    "2.5rem;align-items:start}.cols>*{min-width:0}.cols>div>h3:first-child{margin-top:1.5rem}"     \
    ".flow{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,44rem),1fr));"       \
    "gap:0 2.5rem}.flow>*{min-width:0}.flow>:not(.alone){grid-column:1/-1}"                        \
    "@media (min-width:1600px){.stay{position:sticky;top:0}.both .down{display:block;columns:2;"   \
    "column-gap:2.5rem}.both .down figure{break-inside:avoid;padding-bottom:.75rem}}"
#define TABLES                                                                                     \
    ".scroll{overflow-x:auto;margin:.5rem 0 1rem;max-width:100%}"                                  \
    "table{border-collapse:collapse;font-size:.875rem}"                                            \
    "th,td{padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top;"                     \
    "border-bottom:1px solid var(--grid);max-width:26rem}"                                         \
    "td{overflow-wrap:break-word}td.long{overflow-wrap:anywhere;min-width:9rem;max-width:32rem}"   \
    ".id{display:block;font-size:.75rem;color:var(--mute)}"                                        \
    "thead th{white-space:nowrap;border-bottom:2px solid var(--mute)}thead "                       \
    ".long{white-space:normal}"                                                                    \
    ".num,.fig td:not([class]){text-align:right;white-space:pre}"                                  \
    "tr.total>*{font-weight:600}tr.bad>*{background:var(--bad)}tr.wait>*{background:var(--wait)}"
#define FORMS                                                                                      \
    "form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:.75rem 0}"             \
    "form>.scroll,form>p{flex:1 1 100%;max-width:100%}form table{width:100%;max-width:80rem}"      \
    "label{display:flex;flex-direction:column;flex:0 1 10rem;font-size:.875rem;min-width:0}"       \
    "input,select,button{font:inherit;color:inherit;background:transparent;max-width:100%;"        \
    "padding:.25rem .5rem;border:1px solid var(--mute);border-radius:4px}"                         \
    "label input,select,button{height:2.25rem}label input,select{width:100%}"                      \
    "option{background:var(--paper);color:var(--ink)}"                                             \
    "::placeholder{color:var(--mute);opacity:1}"                                                   \
    "td input{margin:.25rem 0 0}label:has([name=run]){flex:1 1 100%;max-width:28rem}"              \
    "[name=run]{font-size:.875rem}"                                                                \
    "progress{appearance:none;width:100%;height:1rem;background:transparent;"                      \
    "border:1px solid var(--mute);border-radius:4px}td progress{width:96px;height:.5rem}"          \
    "p:has(progress){max-width:none}"                                                              \
    "progress::-webkit-progress-bar{background:transparent}"                                       \
    "progress::-webkit-progress-value{background:var(--c0)}"                                       \
    "progress::-moz-progress-bar{background:var(--c0)}"
#define NARROW                                                                                     \
    "@media (max-width:640px){body{padding:0 .75rem 2rem}.wide,.num>.wide{display:none}"           \
    ".more{display:none}.narrow,.id.narrow{display:block}#differences "                            \
    "table{font-size:.75rem}.stats div{padding:.5rem .625rem}.stats .big{font-"                    \
    "size:1rem}.chip{margin:1px 0}.num .id{white-space:normal}label{flex:1 1 "                     \
    "8rem}.rug{width:110px}"                                                                       \
    "th,td{padding-right:.5rem}td.long{min-width:5rem}thead th,thead .num{white-space:normal}}"
#define PRINT                                                                                      \
    "@media print{body{max-width:none;padding:0;font-size:10pt}.wide,.num>.wide,nav{display:none}" \
    ".narrow{display:block}figure,tr,.card,.stats div{break-inside:avoid}h2,h3{break-after:avoid}" \
    ".scroll{overflow:visible}table{font-size:8pt}th,td{padding-right:.5rem}"                      \
    "td,td.long{overflow-wrap:anywhere;min-width:0}thead th,thead .num{white-space:normal}}"

const char page_style[] = LIGHT(PALETTE) IN_THE_DARK(DARK(PALETTE))
    BODY NAVIGATION VERDICT PARTS FIGURES TABLES FORMS NARROW PRINT;
