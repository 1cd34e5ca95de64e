// Elements, numbers for people, axes and charts. Texts reach the page as text nodes alone, never as HTML.
const known = x => x !== null && x !== undefined && !Number.isNaN(x);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (known(value)) node.setAttribute(name, value);
  node.append(...children.flat(Infinity).filter(child => known(child) && child !== ""));
  return node;
}
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Numbers.
const grouped = n => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
function brief(x) {
  if (!known(x)) return "not finite";
  const size = Math.abs(x);
  if (size >= 1e6) return Number((x / 1e6).toPrecision(4)) + " M";
  if (size >= 1000) return grouped(x);
  if (size !== 0 && size < 1e-3) return Number(x.toPrecision(3)).toExponential().replace("e-", "e\u2212");
  return String(Number(x.toPrecision(4)));
}
const percent = x => known(x) ? Number((100 * x).toPrecision(4)) + "%" : "not finite";
function duration(s) {
  if (!known(s)) return "\u2013";
  s = Math.round(s);
  const two = n => String(n).padStart(2, "0"), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  return (h ? h + ":" + two(m) : m) + ":" + two(s % 60);
}
const milliseconds = ms => (ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : grouped(ms)) + " ms";
const counted = (n, word) => `${grouped(n)} ${word}${n === 1 ? "" : "s"}`;
// The largest unit in which the largest amount is at least 1: one for a whole chart.
const byte_units = ["B", "KiB", "MiB", "GiB", "TiB"].map((name, i) => ({name, size: 1024 ** i}));
const time_units = [{name: "\u00b5s", size: 1e-3}, {name: "ms", size: 1}, {name: "s", size: 1000}];  // of ms
const unit_of = (units, most) => units.findLast(unit => unit.size <= most) || units[0];
function bytes(x, unit = unit_of(byte_units, x)) {
  return brief(Number((x / unit.size).toPrecision(3))) + " " + unit.name;
}

// An axis from one round number to another: {low, high, ticks, at(value): 0 to 1}.
function axis_of(low, high, ticks, scale) {
  const at = value => (scale(Math.min(Math.max(value, low), high)) - scale(low)) / (scale(high) - scale(low));
  return {low, high, ticks, at};
}
// most: the largest number of steps between ticks.
function linear_axis(low, high, most = 7) {
  if (high - low <= 1e-9 * Math.abs(high)) {
    const half = Math.abs(low) / 10 || 1;
    low -= half;
    high += half;
  }
  if (low > 0 && low < high / 4) low = 0;
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw) + 1e-9);
  const gap = power * ([1, 2, 5].find(m => m * power >= raw * (1 - 1e-9)) || 10);
  const first = Math.floor(low / gap + 1e-9), last = Math.ceil(high / gap - 1e-9), ticks = [];
  for (let i = first; i <= last; ++i) ticks.push(i * gap);
  return axis_of(first * gap, last * gap, ticks, x => x);
}
// From one tick to another: 1, 2 and 5 times powers of ten, or powers of ten alone where these are many.
function log_axis(low, high) {
  const many = high / low > 500, marks = many ? [1] : [1, 2, 5], all = [];
  for (let d = Math.floor(Math.log10(low) + 1e-9); all.length < 2 || all.at(-1) < high * (1 - 1e-9); ++d)
    for (const m of marks) all.push(Number((m * 10 ** d).toPrecision(6)));
  const first = Math.max(0, all.findLastIndex(t => t <= low * (1 + 1e-9)));
  const ticks = all.slice(first, Math.max(first + 2, all.findIndex(t => t >= high * (1 - 1e-9)) + 1));
  return axis_of(ticks[0], ticks.at(-1), ticks, Math.log);
}
// A tick at each count and a margin at both ends.
function count_axis(counts) {
  const ticks = [...new Set(counts)].sort((a, b) => a - b), most = ticks.at(-1);
  const margin = ticks.length > 1 ? Math.max((most / ticks[0]) ** 0.06, 1.1) : 2;
  return axis_of(ticks[0] / margin, most * margin, ticks, Math.log);
}

const colour_style = colour => `--c: var(--c${colour % 8})`;
const is_narrow = () => matchMedia("(max-width: 560px)").matches;
const width_of = text => 6.9 * text.length;  // of the charts' font, in units of a drawing

// entries: {name, colour, style}: of lines by their style, or a box.
function legend(entries) {
  return make(
      "ul", {class: "legend"},
      entries.map(e => make("li", {style: colour_style(e.colour)}, make("i", {class: e.style}), e.name)));
}
function figure(chart, svg, entries, readout = "") {
  return make(
      "figure", {}, make("figcaption", {}, chart.title, " ", make("span", {}, chart.note)),
      entries.length ? legend(entries) : "", svg, readout);
}

// Moves the labels of line ends apart: upwards from the lowest, then down from the upper edge.
function move_apart(labels, top) {
  const height = 14;
  labels.sort((a, b) => b.y - a.y);
  for (let i = 1; i < labels.length; ++i) labels[i].y = Math.min(labels[i].y, labels[i - 1].y - height);
  for (let i = labels.length - 1, least = top; i >= 0; --i, least += height) {
    if (labels[i].y >= least) break;
    labels[i].y = least;
  }
  return labels;
}

// What a chart of lines has at the ends of its lines: the names where these are short and few, and the values.
function ends_of(chart, series, text) {
  const shown = series.filter(s => s.style !== "ideal" && !s.quiet && !chart.stacked);
  const named = shown.filter(s => s.name), longest = Math.max(0, ...named.map(s => s.name.length));
  const beside =
      !chart.stacked && named.length === shown.length && shown.length <= 8 && longest <= (is_narrow() ? 10 : 18);
  const labels = shown.map(s => {
    const last = s.y.findLast(known);
    return {colour: s.colour, value: last, text: (beside ? s.name + " " : "") + text(last)};
  });
  const once = labels.filter((l, i) => beside || labels.findIndex(other => other.text === l.text) === i);
  return {labels: once.slice(0, 16), beside};
}

// chart: {title, note, unit, text, x_title, x_text, series, log: true | "auto", log_x, counts, from_zero, stacked,
// whole_range, x_ticks}
//   unit: what stands above the axis of values. text: formats its values.
// series: {name, colour, x, y, low, high, style: dots | faint | ideal | modelled, titles, quiet}; null: a gap.
//   quiet: without a label of its own, because another series has the same name and colour
function line_chart(chart) {
  const series = chart.series.filter(s => s.y.some(known)), text = chart.text || brief;
  if (!series.length) return null;
  if (chart.stacked) stack(series);
  const xs = [...series.flatMap(s => s.x), ...(chart.x_ticks || [])],
        ys = series.flatMap(s => chart.stacked ? s.high : s.y).filter(known);
  const range = series.flatMap(s => [...(s.low || []), ...(s.high || [])]).filter(known);
  let least = Math.min(...ys), most = Math.max(...ys);
  // Extremes that are far outside leave the frame, and do not flatten the means; but with whole_range.
  const room = chart.whole_range || chart.counts ? Infinity : (most - least || Math.abs(most)) / 3;
  const lowest = Math.max(Math.min(least, ...range), least - room);
  const log = lowest > 0 && (chart.log === true || (chart.log === "auto" && most > 100 * least));
  least = (chart.from_zero || chart.stacked) && !log ? Math.min(0, lowest) : lowest;
  most = Math.min(Math.max(most, ...range), log ? Infinity : most + room);
  const ay = log ? log_axis(least, most) : linear_axis(least, most);
  const ax = chart.counts ? count_axis(xs) :
      chart.log_x         ? log_axis(Math.min(...xs), Math.max(...xs)) :
                            linear_axis(Math.min(chart.x_low ?? 0, ...xs), Math.max(...xs), is_narrow() ? 5 : 7);
  if (!chart.counts && !chart.log_x && ax.high > Math.max(...xs)) Object.assign(ax, linear_span(ax, Math.max(...xs)));
  if (chart.x_ticks) ax.ticks = chart.x_ticks;
  const ends = ends_of(chart, series, text);
  const w = is_narrow() ? 380 : 560, h = 290, top = 26, bottom = 242;
  const left = Math.max(34, 12 + Math.max(...ay.ticks.map(t => width_of(text(t)))));
  const right = w - 10 - Math.max(12, ...ends.labels.map(l => 14 + width_of(l.text)));
  const px = x => left + ax.at(x) * (right - left), py = y => bottom - ay.at(y) * (bottom - top);
  const svg = draw(
      "svg", {class: "chart", viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": chart.title},
      ay.ticks.map(
          t =>
              [draw("path", {class: "grid", d: `M${left} ${py(t).toFixed(1)}H${right}`}),
               draw("text", {x: left - 8, y: py(t) + 4, "text-anchor": "end"}, text(t))]),
      spaced(ax.ticks.map(t => ({x: px(t), text: (chart.x_text || brief)(t)})))
          .map(t => draw("text", {x: t.x, y: bottom + 18, "text-anchor": "middle"}, t.text)),
      draw(
          "text", {x: (left + right) / 2, y: h - 8, "text-anchor": "middle"},
          (chart.x_title || "epoch") + (chart.log_x ? " (log scale)" : "")),
      draw("text", {x: 0, y: 12}, [chart.unit, log ? "(log scale)" : ""].filter(Boolean).join(" ")),
      series.map(s => drawn_series(chart, s, px, py, text)),
      move_apart(ends.labels.map(l => ({...l, y: py(l.value)})), top)
          .map(
              l =>
                  [draw("circle", {class: "dot", style: colour_style(l.colour), cx: right + 8, cy: l.y, r: 3}),
                   draw("text", {class: "value", x: right + 14, y: l.y + 4}, l.text)]));
  const readout = make("p", {class: "readout"});
  read_at_pointer(chart, svg, readout, {series, px, top, bottom, width: w, text});
  const named = series.filter(s => s.name && !s.quiet),
        entries = ends.beside ? named.filter(s => s.style === "ideal") : named;
  return figure(chart, svg, entries.map(s => ({...s, style: chart.stacked ? "box" : s.style})), readout);
}
// A linear axis that ends at the data, between two ticks.
function linear_span(axis, high) {
  return axis_of(axis.low, high, axis.ticks.filter(t => t <= high * (1 + 1e-9)), x => x);
}
// Leaves out texts that would touch the one before.
function spaced(ticks) {
  const kept = [];
  for (const t of ticks) {
    const last = kept.at(-1);
    if (!last || t.x - last.x > (width_of(t.text) + width_of(last.text)) / 2 + 6) kept.push(t);
  }
  return kept;
}
function drawn_series(chart, s, px, py, text) {
  const group = draw("g", {style: colour_style(s.colour)});
  if (s.low)
    group.append(
        chart.counts ? spreads(s, px, py) :
                       draw("path", {class: chart.stacked ? "area" : "band", d: outline(s, px, py)}));
  if (!chart.stacked) group.append(draw("path", {class: "curve " + (s.style || ""), d: path_of(s, px, py)}));
  const dots = s.style === "dots" || s.style === "modelled" || s.y.length === 1;
  if (dots && !chart.stacked)
    s.y.forEach(
        (y, i) => known(y) &&
            group.append(draw(
                "circle", {class: "dot " + (s.style || ""), cx: px(s.x[i]).toFixed(1), cy: py(y).toFixed(1), r: 3.5},
                draw("title", {}, s.titles?.[i] || `${s.name}: ${text(y)} at ${brief(s.x[i])}`))));
  return group;
}
function path_of(s, px, py) {
  let d = "", pen = "M";
  s.y.forEach((y, i) => {
    if (known(y)) d += `${pen}${px(s.x[i]).toFixed(1)} ${py(y).toFixed(1)}`;
    pen = known(y) ? "L" : "M";
  });
  return d;
}
// low and high of each series are the sums up to it.
function stack(series) {
  const sums = series[0].y.map(() => 0);
  for (const s of series) {
    s.low = [...sums];
    s.y.forEach((y, i) => sums[i] += y || 0);
    s.high = [...sums];
  }
}
function outline(s, px, py) {
  const points = s.x.map((x, i) => [px(x), s.low[i], s.high[i]]).filter(p => known(p[1]));
  const edge = of => points.map(p => `${p[0].toFixed(1)} ${py(p[of]).toFixed(1)}`);
  return points.length ? "M" + edge(2).join("L") + "L" + edge(1).reverse().join("L") + "z" : "";
}
function spreads(s, px, py) {
  const bars = s.x.map(
      (x, i) => s.high[i] > s.low[i] ?
          `M${px(x)} ${py(s.low[i])}V${py(s.high[i])}m-4 0h8M${px(x) - 4} ${py(s.low[i])}h8` :
          "");
  return draw("path", {class: "spread", d: bars.join("")});
}

// The values below the pointer, in a line below the chart; a chart that is drawn again keeps them.
let pointed = null;  // {title, x}: where the pointer is, in units of the drawing
function read_at_pointer(chart, svg, readout, {series, px, top, bottom, width, text}) {
  const cursor = draw("path", {class: "cursor"});
  svg.append(cursor);
  const near = (s, x) => s.x.reduce((best, v, i) => Math.abs(px(v) - x) < Math.abs(px(s.x[best]) - x) ? i : best, 0);
  const show = x => {
    const longest = series.reduce((a, b) => b.x.length > a.x.length ? b : a), at = longest.x[near(longest, x)];
    cursor.setAttribute("d", `M${px(at).toFixed(1)} ${top}V${bottom}`);
    const values = series.filter(s => s.style !== "ideal").map(s => {
      const i = near(s, x), range = s.low && !chart.stacked && s.high[i] > s.low[i];
      return `${s.name ? s.name + " " : ""}${text(s.y[i])}` +
          (range ? ` (${text(s.low[i])} to ${text(s.high[i])})` : "");
    });
    readout.textContent = `${chart.x_title || "epoch"} ${(chart.x_text || brief)(at)}: ${values.join(", ")}`;
  };
  svg.onpointermove = event => {
    const box = svg.getBoundingClientRect();
    pointed = {title: chart.title, x: (event.clientX - box.left) / box.width * width};
    show(pointed.x);
  };
  svg.onpointerleave = () => {
    pointed = null;
    cursor.setAttribute("d", "");
    readout.textContent = "";
  };
  if (pointed?.title === chart.title) show(pointed.x);
}

// chart: {title, note, unit, parts: [{name, colour}], bars: [{group, label, parts, titles, total, marks}],
//   marks: [{name, style}]}
function bar_chart(chart) {
  if (!chart.bars.length) return null;
  const w = is_narrow() ? 380 : 560, longest = Math.max(...chart.bars.map(b => width_of(b.label)));
  const left = Math.min(w / 3, longest + 12), totals = Math.max(...chart.bars.map(b => width_of(b.total)));
  const right = w - totals - 22, sum_of = bar => bar.parts.reduce((sum, p) => sum + p, 0);
  const most = Math.max(...chart.bars.flatMap(b => [sum_of(b), ...(b.marks || [])]));
  const axis = linear_axis(0, most || 1, is_narrow() ? 4 : 7), px = x => left + axis.at(x) * (right - left);
  const titled = (bar, i, node) => fill(node, {}, [draw("title", {}, bar.titles?.[i])]);
  const nodes = [];
  let y = 4, group = "";
  for (const bar of chart.bars) {
    if (bar.group !== group) {
      nodes.push(draw("text", {class: "heading", x: 0, y: y + 15}, bar.group));
      y += 22;
    }
    group = bar.group;
    nodes.push(draw("text", {x: left - 8, y: y + 15, "text-anchor": "end"}, bar.label));
    let sum = 0;
    bar.parts.forEach((part, i) => {
      const from = px(sum).toFixed(2), to = px(sum += part).toFixed(2);
      if (to - from > 0.05)
        nodes.push(titled(bar, i, draw("path", {
                            class: "area",
                            style: colour_style(chart.parts[i].colour),
                            d: `M${from} ${y + 4}H${to}v14H${from}z`
                          })));
    });
    (bar.marks ||
     []).forEach((mark, i) => nodes.push(titled(bar, bar.parts.length + i, draw("path", {
                                                  class: "mark",
                                                  d: i === 0 ? `M${px(mark)} ${y + 2}v18` :
                                                               `M${px(mark)} ${y + 6.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5z`
                                                }))));
    nodes.push(draw("text", {class: "value", x: px(Math.max(sum, ...(bar.marks || []))) + 9, y: y + 15}, bar.total));
    y += 22;
  }
  const svg = draw(
      "svg", {class: "chart", viewBox: `0 0 ${w} ${y + 44}`, role: "img", "aria-label": chart.title},
      axis.ticks.map(t => draw("path", {class: "grid", d: `M${px(t).toFixed(1)} 4V${y + 2}`})),
      spaced(axis.ticks.map(t => ({x: px(t), text: brief(t)})))
          .map(t => draw("text", {x: t.x, y: y + 18, "text-anchor": "middle"}, t.text)),
      draw("text", {x: (left + right) / 2, y: y + 37, "text-anchor": "middle"}, chart.unit), nodes);
  return figure(
      chart, svg,
      [...chart.parts.map(p => ({...p, style: "box"})), ...(chart.marks || []).map(m => ({...m, colour: 7}))]);
}

// Parts of a page.
const facts = rows => make(
    "dl", {},
    rows.filter(([, value]) => known(value) && value !== "")
        .map(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]));
const folded = (title, text) => text ? make("details", {}, make("summary", {}, title), make("pre", {}, text)) : "";
const soft = (...texts) => make("p", {class: "soft"}, texts);
const tile = (title, value, note, kind = "") =>
    make("div", {class: "panel " + kind}, make("small", {}, title), make("b", {}, value), make("small", {}, note));
const tiles = list => list.length ? make("div", {class: "tiles"}, list) : "";
function section(title, ...parts) {
  const shown = parts.flat().filter(Boolean);
  return shown.length ? make("section", {}, make("h2", {}, title), make("div", {class: "charts"}, shown)) : "";
}
// A sign of equal or different bits is coloured.
function signed(text) {
  const sign = /[\u2713\u2717]/.exec(text);
  if (!sign) return text;
  return [
    text.slice(0, sign.index), make("b", {class: sign[0] === "\u2713" ? "good" : "bad"}, sign[0]),
    signed(text.slice(sign.index + 1))
  ];
}
// rows: texts, the heading first. numbers(column): whether it stands at the right.
function table(caption, rows, numbers = () => false) {
  if (rows.length < 2) return "";
  const row = (cells, tag) =>
      make("tr", {}, rows[0].map((_, i) => make(tag, {class: numbers(i) ? "n" : null}, signed(cells[i] ?? ""))));
  return make(
      "div", {class: "wide"},
      make(
          "table", {}, make("caption", {}, caption), make("thead", {}, row(rows[0], "th")),
          make("tbody", {}, rows.slice(1).map(r => row(r, "td")))));
}
const title_line = (title, state, kind, note) => make(
    "header", {class: "title"}, make("h1", {}, title),
    state ? make("span", {class: "state " + (kind || "soft")}, state) : "",
    note ? make("span", {class: "soft"}, note) : "");
function grouped_by(items, key_of) {
  const groups = new Map();
  for (const item of items) groups.set(key_of(item), [...(groups.get(key_of(item)) || []), item]);
  return groups;
}
