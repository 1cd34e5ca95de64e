// Colours, words and the table of pages that all pages share. Equal things have equal colours on all pages.
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
const known_kinds = lists => memory_kinds.concat(lists.flatMap(Object.keys))
                                 .filter((kind, i, all) => all.indexOf(kind) === i && lists.some(list => kind in list));
const memory_parts = kinds => kinds.map(name => ({name, colour: (memory_kinds.indexOf(name) + 8) % 8}));
const sum = list => Object.values(list).reduce((a, b) => a + b, 0);
