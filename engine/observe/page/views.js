// What each kind of page shows of its data. Equal things have equal colours on all pages.
const colours = {
  train: 0,
  evaluated: 1,
  speed: 2,
  lr: 3,
  norm: 4
};
const part_colours = {
  data: 4,
  copy: 6,
  forward: 0,
  backward: 5,
  reduce: 1,
  update: 2,
  replicate: 3,
  other: 7
};
const memory_kinds = ["weights", "gradients", "optimizer", "activations", "workspace", "communication", "checkpoint"];
const shares = ["accuracy", "exact_match", "mean_iou", "dice", "pixel_accuracy"];
const text_of = metric => shares.includes(metric) ? percent : brief;
const words = name => name.replaceAll("_", " ");
const capital = name => name[0].toUpperCase() + words(name).slice(1);
const views = {};

// A run, or several over each other. Of one, colours tell what is shown; of several, whose it is.
// tags: [[tag, name, colour, style]]; name: a text, or a function of the run
function curves_of(runs, tags) {
  const all = [], several = runs.length > 1;
  runs.forEach((run, r) => tags.forEach(([tag, name, colour, style]) => {
    const curve = run.curves[tag], label = typeof name === "function" ? name(run) : name;
    if (!curve) return;
    // Of several runs, the evaluations count.
    const quiet = several && label === "train" && tags.some(([other]) => other !== tag && run.curves[other]);
    all.push({
      ...curve,
      colour: several ? r % 7 : colour,
      name: several ? run.label : label,
      quiet,
      style: quiet                                ? "faint" :
          style === "dots" && curve.x.length > 60 ? "" :
                                                    style,
      ...(several ? {low: null, high: null} : {})
    });
  }));
  return all;
}
function common(runs, key) {
  const values = [...new Set(runs.map(run => run[key]).filter(Boolean))];
  return values.length === 1 ? values[0] : null;
}
function learning(runs) {
  const evaluated = run => run.evaluated, metric = common(runs, "metric"), decides = common(runs, "decides");
  const of_metric = (name, tags) => ({
    title: capital(name),
    unit: words(name) + (name === "psnr" ? ", dB" : ""),
    text: text_of(name),
    log: ["perplexity", "rmse"].includes(name) ? "auto" : false,
    series: curves_of(runs, tags)
  });
  const evaluation = tag => [tag, evaluated, colours.evaluated, "dots"];
  const charts = [{
    title: "Loss",
    unit: "loss",
    log: "auto",
    series: curves_of(runs, [["train/loss", "train", colours.train], evaluation("val/loss")])
  }];
  if (metric)
    charts.push(of_metric(metric, [["train/" + metric, "train", colours.train], evaluation("val/" + metric)]));
  if (decides && decides !== metric && decides !== "loss")
    charts.push(of_metric(decides, [evaluation("val/" + decides)]));
  charts.push(
      {
        title: "Learning rate",
        unit: "learning rate",
        by_step: true,
        from_zero: true,
        series: curves_of(runs, [["train/lr", "", colours.lr]])
      },
      {
        title: "Gradient norm",
        unit: "norm",
        from_zero: true,
        log: "auto",
        series: curves_of(runs, [["train/grad_norm", "", colours.norm]])
      },
      {
        title: "Throughput",
        unit: "samples/s",
        from_zero: true,
        series: curves_of(runs, [["perf/samples_per_s", "", colours.speed]])
      });
  const note = chart => chart.series.some(s => s.quiet) ? "thin: training; bold: evaluations" :
      !chart.series.some(s => s.low)                    ? "" :
      runs.every(r => r.by_epoch) && !chart.by_step     ? "mean of each epoch, and range of its steps" :
                                                          "mean and range of neighbouring steps";
  return section("Training", charts.map(c => line_chart({...c, note: note(c)})));
}
function time_of_step(run) {
  const tags = {data: "data_wait", reduce: "comm_wait"};
  const parts = Object.entries(part_colours)
                    .map(([name, colour]) => ({...run.curves[`time/${tags[name] || name}_ms`], name, colour}))
                    .filter(p => p.y?.some(y => y > 0));
  if (!parts.length) return null;
  const unit = unit_of(time_units, sum(parts.map(p => Math.max(...p.y))));
  return line_chart({
    title: "Time of a step",
    note: "means over the lanes of rank 0",
    unit: unit.name + " a step",
    stacked: true,
    series: parts.map(p => ({...p, y: p.y.map(y => (y || 0) / unit.size), style: ""}))
  });
}
const known_kinds = lists => memory_kinds.concat(lists.flatMap(Object.keys))
                                 .filter((kind, i, all) => all.indexOf(kind) === i && lists.some(list => kind in list));
const memory_parts = kinds => kinds.map(name => ({name, colour: (memory_kinds.indexOf(name) + 8) % 8}));
const sum = list => Object.values(list).reduce((a, b) => a + b, 0);
function memory(run) {
  if (!sum(run.planned) || !sum(run.peak)) return null;
  const kinds = known_kinds([run.planned, run.peak]),
        unit = unit_of(byte_units, Math.max(sum(run.planned), sum(run.peak)));
  const bar = (label, list) => ({
    group: "",
    label,
    parts: kinds.map(k => (list[k] || 0) / unit.size),
    total: bytes(sum(list), unit),
    titles: kinds.map(k => `${label}: ${k}: ${bytes(list[k] || 0)}`)
  });
  return bar_chart({
    title: "Memory",
    note: "on the devices of rank 0",
    unit: unit.name,
    parts: memory_parts(kinds),
    bars: [bar("planned", run.planned), bar("peak", run.peak)]
  });
}
function scaled_by(size, curve) {
  const scaled = list => list?.map(y => known(y) ? y / size : null);
  return curve && {x: curve.x, y: scaled(curve.y), low: scaled(curve.low), high: scaled(curve.high)};
}
function devices(run) {
  const names = Object.keys(run.devices);
  const in_use = names.flatMap(name => run.devices[name].curves["device/memory_used_bytes"]?.y || []).filter(known);
  const unit = unit_of(byte_units, Math.max(1, ...in_use));
  const rows = [
    ["Arrival", "of the gradients of its towers, since the step's beginning", "arrival_ms", "ms"],
    ["Busy", "share of time in which it worked", "busy", "share", percent],
    [
      "Memory in use", "of a GPU by all programs; of a CPU by this process", "memory_used_bytes", unit.name, brief,
      unit.size
    ],
    ["Temperature", "", "celsius", "\u00b0C"], ["Power", "", "watts", "W"], ["Clock", "", "clock_mhz", "MHz"]
  ];
  const throttled = names.flatMap(
      name => Object.entries(run.devices[name].throttled)
                  .map(([reason,
                         lines]) => soft(`${name} was throttled (${reason}) in ${counted(lines, "recorded step")}.`)));
  return [
    section(
        "Devices",
        rows.map(
            ([title, note, tag, unit, text, size = 1]) => line_chart({
              title,
              note,
              unit,
              text,
              from_zero: tag !== "celsius",
              series: names
                          .map(
                              (name, i) =>
                                  ({...scaled_by(size, run.devices[name].curves["device/" + tag]), name, colour: i}))
                          .filter(s => s.x)
            }))),
    throttled
  ];
}
function confusion(matrix) {
  const {classes, counts, scores} = matrix, n = classes.length;
  if (matrix.pairs) return table(matrix.caption, [["true", "found", "samples"], ...matrix.pairs], i => i === 2);
  // Wrong answers are few where a model is good: the root of their share shows them all the same.
  const cell = (row, column) => {
    const count = counts[row * n + column], all = scores[row].actual, right = row === column,
          share = all ? count / all : 0;
    return make(
        "td", {
          class: "n cell" + (right ? " right" : ""),
          style: `${colour_style(right ? 0 : 1)}; --share: ${Math.round(55 * Math.sqrt(share))}%`,
          title: `${classes[row]} as ${classes[column]}: ${count} of ${all}`
        },
        count ? grouped(count) : "");
  };
  const score = x => make("td", {class: "n"}, known(x) ? percent(x) : "");
  return make(
      "div", {class: "wide"},
      make(
          "table", {class: "confusion"}, make("caption", {}, matrix.caption),
          make(
              "thead", {},
              make(
                  "tr", {},
                  ["true \\ found", ...classes, "right", "precision", "F1"].map(
                      (c, i) => make("th", {class: i ? "n" : null}, c)))),
          make(
              "tbody", {},
              classes.map(
                  (name, row) => make(
                      "tr", {}, make("th", {}, name), classes.map((_, column) => cell(row, column)),
                      score(scores[row].recall), score(scores[row].precision), score(scores[row].f1))))));
}
const png = (bytes, alt, kind) => make("img", {class: kind, alt, src: "data:image/png;base64," + bytes});
function gallery(wrong) {
  if (!wrong.length) return "";
  return [
    make("h3", {}, "Most wrong"), soft("The wrong answers of which the model was most sure."),
    make(
        "div", {class: "gallery"},
        wrong.map(
            w => make(
                "div", {class: "panel"}, w.png ? png(w.png, "test sample " + w.sample) : "",
                make("div", {}, "taken for ", make("b", {}, w.found), `, ${percent(w.sure)} sure`),
                make("div", {}, "is ", make("b", {}, w.actual)),
                make("div", {class: "soft"}, "test sample " + w.sample))))
  ];
}
function answers(run, matrix) {
  const parts =
      [matrix       ? [confusion(matrix), gallery(matrix.wrong)] :
           run.hint ? soft(run.hint[0], make("code", {}, run.hint[1])) :
                      ""];
  const sample = run.sample;
  if (sample)
    parts.push(
        make("p", {}, `Newest sample, ${sample.name}:`),
        sample.png ? png(sample.png, "inputs, what the model made of them, and targets", "sample") :
                     make("pre", {}, sample.text));
  return parts.some(Boolean) ? make("section", {}, make("h2", {}, "Answers"), parts.flat(2)) : "";
}
function one_run(run, matrix) {
  const figures = run.figures.map((f, i) => tile(f.of, f.text, f.note, i === 0 ? "lead" : ""));
  if (run.time) figures.push(tile("time", run.time, run.progress), tile("speed", run.speed, "samples per second"));
  return [
    title_line(run.label, run.state, run.verdict, run.model), tiles(figures), run.time ? "" : soft(run.progress),
    run.notes.map(n => soft(n)), make("div", {class: "panel"}, facts(run.facts)), learning([run]),
    section("Time and memory", time_of_step(run), memory(run)), devices(run), answers(run, matrix),
    folded("Config", run.config)
  ];
}
views.report = data => {
  const runs = data.runs;
  if (runs.length === 1) return one_run(runs[0], data.confusion);
  const figures = [...new Set(runs.flatMap(r => r.figures.map(f => f.of)))];
  const rows = [
    ["run", ...figures, "state", "steps", "epochs", "time", "samples/s", "parameter hash"],
    ...runs.map(
        r =>
            [r.label, ...figures.map(name => r.figures.find(f => f.of === name)?.text), r.state, grouped(r.steps),
             brief(r.epochs), r.time, r.speed, r.hash])
  ];
  const number = i => i > 0 && i !== figures.length + 1 && i !== rows[0].length - 1;
  return [
    title_line(runs.length + " runs"), table("Runs", rows, number),
    runs.flatMap(r => r.notes.map(n => soft(`${r.label}: ${n}`))), learning(runs),
    soft("The first step in which two of them differ: ", make("code", {}, "trainer compare RUN_A RUN_B")),
    runs.map(r => folded("Config of " + r.label, r.config))
  ];
};

// A benchmark.
function scaling(data, kind, what) {
  const points = data.points.filter(p => p.scaling === kind), names = [...new Set(data.points.map(p => p.series))];
  if (!points.length) return "";
  const lines = (value, more = () => ({})) =>
      names
          .map((name, colour) => {
            const own = points.filter(p => p.series === name && known(p[value]));
            return {name, colour, style: "dots", x: own.map(p => p.devices), y: own.map(p => p[value]), ...more(own)};
          })
          .filter(s => s.x.length);
  const speed = lines(
      "samples_per_s", own => ({low: own.map(p => p.low), high: own.map(p => p.high), titles: own.map(p => p.title)}));
  const ideal = speed.filter(s => s.x.length > 1)
                    .map(s => ({colour: s.colour, style: "ideal", x: s.x, y: s.x.map(x => s.y[0] * x / s.x[0])}));
  if (ideal.length) ideal[0].name = "in proportion to the devices";
  const modelled = [...grouped_by(data.modelled.filter(p => p.scaling === kind), p => p.label)].map(
      ([label, own], i) => ({
        name: label + " (model, not measured)",
        colour: names.length + i,
        style: "modelled",
        x: own.map(p => p.devices),
        y: own.map(p => p.samples_per_s)
      }));
  const efficiency = lines("efficiency"), devices = [...new Set(efficiency.flatMap(s => s.x))];
  if (efficiency.length)
    efficiency.unshift({name: "ideal", colour: 7, style: "ideal", x: devices, y: devices.map(() => 1)});
  const amounts = points.flatMap(p => [p.rss, sum(p.planned), sum(p.memory)]),
        unit = unit_of(byte_units, Math.max(...amounts));
  const step_unit = unit_of(time_units, Math.max(...points.map(p => sum(p.step_ms))));
  const bars = of => points.map(p => ({group: p.series, label: p.bar, ...of(p)}));
  const step_parts = Object.keys(part_colours).map(name => ({name, colour: part_colours[name]}));
  const kinds = known_kinds(points.map(p => p.memory));
  const counted_x = {counts: true, x_title: "devices (log scale)", x_text: grouped};
  return section(
      capital(kind) + " scaling: " + what, line_chart({
        title: "Speed",
        note: "median and range of the rounds",
        unit: "samples/s",
        log: true,
        ...counted_x,
        series: [...ideal, ...modelled, ...speed]
      }),
      line_chart({
        title: "Efficiency",
        note: "of a device, against one alone",
        unit: "efficiency",
        from_zero: true,
        text: x => Math.round(100 * x) + "%",
        ...counted_x,
        series: efficiency
      }),
      bar_chart({
        title: "Time of a step",
        note: "of the round of median speed",
        unit: step_unit.name + " a step",
        parts: step_parts,
        bars: bars(p => ({
                     parts: step_parts.map(s => p.step_ms[s.name] / step_unit.size),
                     total: `${brief(sum(p.step_ms) / step_unit.size)} ${step_unit.name}`,
                     titles: step_parts.map(s => `${p.title}: ${s.name}: ${milliseconds(p.step_ms[s.name])}`)
                   }))
      }),
      bar_chart({
        title: "Peak memory",
        note: "all devices and processes together",
        unit: unit.name,
        parts: memory_parts(kinds),
        marks: [{name: "planned", style: "line"}, {name: "memory of the host", style: "diamond"}],
        bars: bars(p => ({
                     parts: kinds.map(k => (p.memory[k] || 0) / unit.size),
                     marks: [sum(p.planned) / unit.size, p.rss / unit.size],
                     titles: [
                       ...kinds.map(k => `${k}: ${bytes(p.memory[k] || 0)}`), "planned: " + bytes(sum(p.planned)),
                       "memory of the host: " + bytes(p.rss)
                     ],
                     total: `${bytes(sum(p.memory), unit)}, host ${bytes(p.rss, unit)}`
                   }))
      }));
}
views.bench = data =>
    [title_line(data.model + ": speed over devices"), tiles(data.lead.map(f => tile(f.of, f.text, f.note, "lead"))),
     data.notes.map(n => make("p", {}, signed(n))), make("div", {class: "panel"}, facts(data.facts)),
     scaling(data, "strong", data.strong), scaling(data, "weak", "the global batch grows with the devices"),
     make("h2", {}, "Figures"), data.tables.map(t => table(t.caption, t.rows, i => i >= t.first && i <= t.last)),
     folded("Config", data.config)];

// sweep.json as it is: a table, the best first; and the figures over each axis of numbers.
views.sweep = data => {
  const points = data.ranking.map(i => data.points[i]),
        metrics = [...new Set(points.map(p => p.best_metric).filter(Boolean))];
  const figure = (p, of, metric) => known(p[of]) ? text_of(p[metric])(p[of]) : "\u2013",
        tested = points.some(p => known(p.test));
  const heading = [
    "best", metrics.length === 1 ? `${points.find(p => p.data)?.data || ""} ${words(metrics[0])}` : "figure"
  ].join(" ");
  const metric_of = p => p.best_metric || p.metric;
  const rows = points.map(
      p =>
          [...(tested ? [known(p.test) ? text_of(metric_of(p))(p.test) : "\u2013"] : []),
           figure(p, "best", "best_metric"), ...data.axes.map(a => p.settings[a.key]),
           known(p.loss) ? brief(p.loss) : "\u2013", known(p.samples_per_s) ? brief(p.samples_per_s) : "\u2013",
           duration(p.seconds), p.state, p.parameter_hash || "\u2013"]);
  const is_number = v => String(v).trim() !== "" && !Number.isNaN(Number(v)),
        axes = data.axes.filter(a => a.values.length > 1 && a.values.every(is_number));
  const over = axis => {
    const done = points.filter(p => known(p.best) && p.best_metric === metrics[0])
                     .map(p => [Number(p.settings[axis.key]), p.best])
                     .sort((a, b) => a[0] - b[0]);
    const values = axis.values.map(Number),
          log_x = values.every(v => v > 0) && Math.max(...values) > 20 * Math.min(...values);
    const best =
        [...grouped_by(done, d => d[0])].map(([x, own]) => [x, own.reduce((a, d) => a + d[1], 0) / own.length]);
    return line_chart({
      title: axis.key,
      note: done.length > best.length ? "mean and range of the runs" : "",
      x_title: axis.key,
      x_low: Math.min(...values),
      x_ticks: values.length <= 12 ? [...values].sort((a, b) => a - b) : null,
      log_x,
      whole_range: true,
      unit: heading,
      text: text_of(metrics[0]),
      series: [{
        name: "",
        colour: colours.evaluated,
        style: "dots",
        x: best.map(b => b[0]),
        y: best.map(b => b[1]),
        ...(done.length > best.length ? {
          low: best.map(b => Math.min(...done.filter(d => d[0] === b[0]).map(d => d[1]))),
          high: best.map(b => Math.max(...done.filter(d => d[0] === b[0]).map(d => d[1])))
        } :
                                        {})
      }]
    });
  };
  const first = points[0],
        lead =
            first && known(first.best) ? [tile(heading, figure(first, "best", "best_metric"), first.name, "lead")] : [];
  if (first && known(first.test))
    lead.unshift(tile(
        "test " + words(metric_of(first)), text_of(metric_of(first))(first.test), "of the run with the " + heading,
        "lead"));
  return [
    title_line(`Sweep of ${counted(data.points.length, "run")}`, "", "", data.configs.map(c => c.name).join(", ")),
    tiles(lead),
    table(
        "Runs",
        [
          [
            ...(tested ? ["test"] : []), heading, ...data.axes.map(a => a.key), "loss", "samples/s", "time", "state",
            "parameter hash"
          ],
          ...rows
        ],
        i => i < rows[0].length - 2),
    points.filter(p => p.message).map(p => soft(`${p.name}: ${p.message}`)),
    metrics.length ? section(capital(heading) + " over the settings", axes.map(over)) : "",
    data.configs.map(c => folded(c.name, c.text))
  ];
};

views.range_test = data =>
    [title_line(data.title, "", "", "range test of the learning rate"),
     tiles([tile("suggested optimizer.lr", data.suggested, "", "lead")]),
     make("div", {class: "panel"}, facts(data.facts)),
     section("Loss over the learning rate", line_chart({
               title: "Loss",
               note: "each step at a higher rate, from the same initial weights",
               unit: "loss",
               x_title: "learning rate",
               log_x: true,
               series: [
                 {
                   name: "batch",
                   colour: colours.train,
                   style: "faint",
                   x: data.lr,
                   y: data.loss.map(y => known(y) ? Math.min(y, data.most) : null)
                 },
                 {name: "smoothed", colour: colours.evaluated, x: data.lr, y: data.smoothed}
               ]
             }))];
