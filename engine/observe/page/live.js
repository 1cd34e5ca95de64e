// The page of a run that goes on: asks each second for state.json (docs/monitoring.md), and keeps the last one.
function meter(title, share, text, hot) {
  return make(
      "div", {class: "meter"}, make("span", {class: "soft"}, title),
      make(
          "div", {class: hot ? "bar warn" : "bar"},
          make("span", {style: `width: ${Math.min(100, 100 * share).toFixed(1)}%`})),
      make("output", {}, text));
}
function device(d, slowest, several) {
  const numbers = [];
  if (known(d.celsius)) numbers.push(`${d.celsius} \u00b0C`);
  if (known(d.watts))
    numbers.push(`${Math.round(d.watts)}${known(d.limit_watts) ? " of " + Math.round(d.limit_watts) : ""} W`);
  if (known(d.clock_mhz)) numbers.push(`${d.clock_mhz} MHz`);
  const troubles = (d.throttled || []).filter(reason => reason !== "idle").map(reason => "clock lowered: " + reason);
  if (known(d.last_xid)) troubles.push("the driver reported XID " + d.last_xid);
  return make(
      "div", {class: "panel"}, make("h3", {}, several ? `rank ${d.rank} ${d.name}` : d.name), soft(d.description),
      soft(numbers.join(", ")), known(d.busy) ? meter("busy", d.busy, Math.round(100 * d.busy) + "%") : "",
      known(d.memory_used_bytes) && d.memory_total_bytes ?
          meter(
              "memory", d.memory_used_bytes / d.memory_total_bytes, part_of(d.memory_used_bytes, d.memory_total_bytes),
              d.memory_used_bytes > 0.95 * d.memory_total_bytes) :
          "",
      d.arrival_ms > 0 ? meter("arrival", d.arrival_ms / slowest, milliseconds(d.arrival_ms)) : "",
      troubles.map(trouble => make("p", {class: "bad"}, trouble)));
}
function part_of(part, whole) {
  const unit = unit_of(byte_units, whole);
  return `${(part / unit.size).toFixed(1)} of ${(whole / unit.size).toFixed(1)} ${unit.name}`;
}
const best_text = b => (b.decides.name === b.metric.name ? "" : words(b.decides.name) + " ") + b.decides.text;

function live_tiles(state) {
  const s = state.step, e = state.eval, b = state.best, name = words(s.metric.name);
  const list = [
    tile(
        `${state.run.evaluated} ${name}`, e ? e.metric.text : "\u2013",
        e ? "loss " + brief(e.loss) + (b ? ", best " + best_text(b) : "") : "not evaluated yet", "lead"),
    tile("training " + name, s.epoch_metric.text, "this epoch; this step " + s.metric.text),
    tile("training loss", brief(s.epoch_loss), "this epoch; this step " + brief(s.loss)),
    tile("samples per second", brief(s.samples_per_s), milliseconds(s.step_ms) + " a step"),
    tile("learning rate", brief(s.lr), "gradient norm " + brief(s.grad_norm))
  ];
  if (s.bad_steps || s.skipped_steps)
    list.push(tile(
        "steps without effect", grouped(s.bad_steps + s.skipped_steps),
        `${s.bad_steps} bad, ${s.skipped_steps} skipped in fp16`));
  return tiles(list);
}
function live_charts(state) {
  const c = state.curve, e = state.evals, name = state.step.metric.name;
  const train = (key, colour, label) => ({name: label, colour, x: c.step, y: c[key]});
  const test = key => ({
    name: state.run.evaluated,
    colour: colours.evaluated,
    x: e.step,
    y: e[key],
    style: e.step.length < 60 ? "dots" : ""
  });
  const note = c.steps_per_point > 1 ? `means of ${counted(c.steps_per_point, "step")}` : "";
  const chart = more => line_chart({note, x_title: "step", x_text: grouped, x_low: c.step[0], ...more});
  return section(
      "Course",
      chart({title: "Loss", unit: "loss", log: "auto", series: [train("loss", colours.train, "train"), test("loss")]}),
      chart({
        title: capital(name),
        unit: words(name),
        text: text_of(name),
        series: [train("metric", colours.train, "train"), test("metric")]
      }),
      chart({title: "Learning rate", unit: "learning rate", from_zero: true, series: [train("lr", colours.lr, "")]}),
      chart({
        title: "Throughput",
        unit: "samples/s",
        from_zero: true,
        series: [train("samples_per_s", colours.speed, "")]
      }));
}
function live_parts(step) {
  const parts = Object.entries(step.parts_ms).filter(([, ms]) => ms > 0),
        total = parts.reduce((all, [, ms]) => all + ms, 0) || 1;
  const names = {data: "waiting for data", reduce: "waiting for gradients", copy: "copy to the device"};
  return make(
      "section", {}, make("h2", {}, "One step"),
      make(
          "div", {class: "panel"},
          make(
              "div", {class: "bar parts"},
              parts.map(([name, ms]) => make("span", {
                          title: name,
                          style: `${colour_style(part_colours[name])}; width: ${(100 * ms / total).toFixed(2)}%`
                        }))),
          legend(parts.map(
              ([name, ms]) =>
                  ({name: `${names[name] || name} ${milliseconds(ms)}`, colour: part_colours[name], style: "box"})))));
}
const clock = t => new Date(t * 1000).toLocaleTimeString([], {hour12: false});
function live_run(state) {
  const r = state.run, slowest = Math.max(...state.devices.map(d => d.arrival_ms || 0), 1e-9);
  return [
    make(
        "section", {}, make("h2", {}, "Devices"),
        make("div", {class: "devices"}, state.devices.map(d => device(d, slowest, r.processes > 1)))),
    state.messages.length ? make(
                                "section", {}, make("h2", {}, "Messages"),
                                make(
                                    "div", {class: "panel"},
                                    make(
                                        "ul", {class: "messages"},
                                        [...state.messages].reverse().map(
                                            m => make(
                                                "li", {}, make("time", {}, clock(m.time)),
                                                make("span", {class: m.warning ? "bad" : null}, m.text)))))) :
                            "",
    make(
        "section", {}, make("h2", {}, "Run"),
        make("div", {class: "panel"}, facts([
               ["task", r.task],
               [
                 "model",
                 `${r.model}, ${grouped(r.parameters)} parameters` + (r.frozen ? `, ${grouped(r.frozen)} frozen` : "")
               ],
               ["global batch", grouped(r.global_batch)], ["steps an epoch", grouped(r.steps_per_epoch)],
               ["strategy", r.strategy], ["processes", r.processes], ["output", r.output],
               ["resumed at step", r.resumed_step ? grouped(r.resumed_step) : ""],
               [
                 "last checkpoint",
                 state.checkpoint ? `step ${grouped(state.checkpoint.step)}, ${bytes(state.checkpoint.bytes)}` : ""
               ]
             ])))
  ];
}

// In the words of report.html. 75: a signal or a limit ended the run, which may go on later.
function end_status(exit, stopped_by) {
  if (exit === 0) return [stopped_by === "early_stop" ? "stopped early" : "done", "good"];
  if (exit === 75) return ["stopped by " + (stopped_by === "signal" ? "a signal" : stopped_by), "soft"];
  return [`failed (exit ${exit}): ${stopped_by}`, "bad"];
}

// What the run does, in words, and whether that is good. lost: nobody answers.
function live_status(state, lost) {
  if (!state) return lost ? ["no answer", "soft"] : ["connecting", "soft"];
  if (state.ended) return end_status(state.ended.exit, state.ended.stopped_by);
  if (lost) return ["no answer since " + clock(state.now), "soft"];
  const s = state.step, silent = s ? state.now - state.step_at : 0;
  if (s && silent > Math.max(30, 20 * s.step_ms / 1e3)) return ["no step for " + duration(silent), "bad"];
  return [s ? "training" : "starting", "good"];
}
function live_page(state, lost) {
  const [status, kind] = live_status(state, lost), r = state?.run, s = state?.step;
  const head = [title_line(r ? r.job : "Spire", status, kind, r ? `${r.model}, ${r.dataset}, ${r.precision}` : "")];
  if (lost && state && !state.ended)
    head.push(soft(
        "This is the last state. The run has ended, or this page cannot reach it; its files are in ",
        make("code", {}, r?.output || "its folder"), "."));
  if (state?.ended && r) head.push(soft("A page that stays: ", make("code", {}, "trainer report " + r.output)));
  if (!s) return [head, r ? live_run(state) : soft("The run is starting.")];
  document.title = `${Math.floor(100 * s.step / s.total_steps)}% ${r.job}`;
  return [
    head, make("div", {class: "bar"}, make("span", {style: `width: ${(100 * s.step / s.total_steps).toFixed(2)}%`})),
    make(
        "div", {class: "beside soft"},
        make(
            "span", {},
            `step ${grouped(s.step)} of ${grouped(s.total_steps)}, epoch ${s.epoch.toFixed(2)} of ${r.epochs}`),
        make("span", {}, s.step < s.total_steps && !lost && !state.ended ? "ends in " + duration(s.eta_seconds) : "")),
    live_tiles(state), live_charts(state), live_parts(s), live_run(state)
  ];
}
let live_state = null, live_lost = false;
views.live = () => live_page(live_state, live_lost);
async function update() {
  if (!document.hidden) {
    try {
      const answer = await fetch("state.json", {signal: AbortSignal.timeout(5000)});
      live_state = await answer.json();
      live_lost = false;
    } catch (error) { live_lost = true; }
    show_page();
  }
  if (!live_state?.ended) setTimeout(update, 1000);
}

const page_data = document.getElementById("data"), view = page_data.getAttribute("data-view"),
      data = JSON.parse(page_data.textContent);
const show_page = () =>
    document.querySelector("main").replaceChildren(...views[view](data).flat(Infinity).filter(Boolean));
show_page();
matchMedia("(max-width: 560px)").addEventListener("change", show_page);
if (view === "live") update();
