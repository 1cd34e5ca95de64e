// The page of trainer bench.
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
