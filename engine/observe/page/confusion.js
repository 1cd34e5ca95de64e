// The confusion matrix of a classifier, or of many classes the pairs that it takes for each other.
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
