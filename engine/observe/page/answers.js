// What a model answered: its confusion matrix, the samples that were most wrong, the newest sample of a run.
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
