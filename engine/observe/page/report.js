// The page of trainer report: a run, or several over each other. Of one, colours tell what is shown; of several, whose
// it is.
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
