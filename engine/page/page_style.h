// Style sheet of a page with charts, light and dark. The colours of series and parts are told apart
// also by people with colour blindness: Okabe and Ito, "Color Universal Design", 2008.
#pragma once
#include <string_view>

namespace spire::inline page {

inline constexpr std::string_view page_style = R"css(
:root { color-scheme: light dark;
  --ground: #fff; --panel: #f6f8fa; --text: #1b1f24; --soft: #57606a; --line: #d8dee4;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b4548f; --c4: #e69f00; --c5: #56b4e9;
  --c6: #443399; --c7: #8b949e; --good: #00704f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #0f1318; --panel: #171c23; --text: #e6eaef; --soft: #9aa5b1; --line: #303842;
  --c0: #3f9fe0; --c1: #ff8a4c; --c2: #2cc79b; --c3: #e59ac4; --c4: #f2b93b; --c5: #9ad7f7;
  --c6: #b7a8ff; --c7: #7f8994; --good: #4cd6a6; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 24px clamp(12px, 3vw, 40px) 48px;
  background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { margin: 0 0 4px; font-size: 28px; line-height: 1.2; }
h2 { margin: 40px 0 2px; font-size: 20px; }
p { margin: 0 0 12px; } .soft { color: var(--soft); }
.result { margin: 12px 0 16px; padding: 12px 16px; border-left: 4px solid var(--c0);
  background: var(--panel); font-size: 17px; }
.result p { margin: 0; } .good { color: var(--good); } .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr));
  gap: 16px; align-items: start; }
figure { margin: 0; padding: 14px 16px 10px; border: 1px solid var(--line); border-radius: 8px;
  background: var(--panel); }
figcaption { font-weight: 600; } figcaption span { color: var(--soft); font-weight: 400; }
.wide { --under: var(--ground); overflow-x: auto; /* shades edges behind which there is more */
  background: linear-gradient(to right, var(--under) 40%, transparent) left local,
    linear-gradient(to left, var(--under) 40%, transparent) right local,
    linear-gradient(to right, var(--soft), transparent) left scroll,
    linear-gradient(to left, var(--soft), transparent) right scroll;
  background-repeat: no-repeat; background-size: 48px 100%, 48px 100%, 12px 100%, 12px 100%; }
figure .wide { --under: var(--panel); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 8px; padding: 0;
  list-style: none; font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 6px; } .legend svg { flex: none; }
.chart { display: block; width: 100%; min-width: 340px; height: auto; font-size: 12px;
  font-variant-numeric: tabular-nums; }
svg text { fill: var(--soft); } .value text { fill: var(--text); stroke: var(--panel); stroke-width: 3px; paint-order: stroke; }
.heading text { fill: var(--text); font-weight: 600; }
.axis path { fill: none; stroke: var(--line); stroke-width: 1; }
.s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); } .s3 { --c: var(--c3); }
.s4 { --c: var(--c4); } .s5 { --c: var(--c5); } .s6 { --c: var(--c6); } .s7 { --c: var(--c7); }
.s-none { --c: var(--soft); }
.measured, .ideal, .modelled, .spread { fill: none; stroke: var(--c); }
.measured { stroke-width: 2; } .ideal { stroke-width: 1.2; stroke-dasharray: 6 4; opacity: .75; }
.modelled { stroke-width: 2.2; stroke-dasharray: .1 5; stroke-linecap: round; }
.spread { stroke-width: 1.4; }
.curve { fill: none; stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; }
.band { fill: var(--c); opacity: .22; stroke: var(--c); stroke-width: .6; stroke-linejoin: round; }
.area { fill: var(--c); stroke: var(--panel); stroke-width: .4; }
.marker { fill: var(--c); stroke: var(--panel); stroke-width: 1; }
.hollow { fill: var(--panel); stroke: var(--c); stroke-width: 1.6; }
.part { fill: var(--c); stroke: var(--panel); stroke-width: .8; }
.mark { fill: var(--text); stroke: var(--text); stroke-width: 2; stroke-linejoin: round; }
table { border-collapse: collapse; margin: 4px 0 20px; font-size: 13px;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
caption { padding: 12px 0 4px; text-align: left; font-size: 15px; font-weight: 600; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); text-align: left; }
thead th { color: var(--soft); font-weight: 600; } .n { text-align: right; }
tbody tr:hover { background: var(--panel); }
.state { font-weight: 600; } .sample { max-width: 100%; image-rendering: pixelated; }
section > p { margin-top: 8px; } section + p { margin-top: 14px; } details { margin: 16px 0; }
.confusion td, .confusion th { padding: 3px 8px; }
.cell { background: color-mix(in srgb, var(--c) var(--share), transparent); }
code, pre { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre { padding: 12px 16px; overflow-x: auto; background: var(--panel); border-radius: 8px; }
summary { cursor: pointer; font-weight: 600; }
@media print { figure { break-inside: avoid; } .wide { overflow: visible; } }
)css";

}  // namespace spire::inline page
