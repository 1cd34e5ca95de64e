// What a model answered: the confusion matrix, the samples that were most wrong, the newest sample of a run.
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
