// The page of trainer lr-find.
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
