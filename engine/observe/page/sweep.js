// The page of trainer sweep. It shows sweep.json as it is: a table, the best first; and the figures over each axis of
// numbers.
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
