// Axes, numbers and labels of the pages' charts (engine/observe/page/draw.js), by their definition.
//   node draw_test.mjs DRAW.js
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import vm from "node:vm";

const names =
    "linear_axis log_axis count_axis move_apart brief bytes percent duration unit_of byte_units spaced stack path_of";
const draw = vm.runInNewContext(`${readFileSync(process.argv[2], "utf8")}\n({${names.split(" ").join(", ")}})`);
const plain = value => JSON.parse(JSON.stringify(value));
const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));

// Linear axes end at round ticks around any values.
for (const low of [-1e9, -37.5, -1e-3, 0, 1e-7, 5, 1e12])
  for (let spread = 1e-3; spread < 1e13; spread *= 3.7) {
    const axis = draw.linear_axis(low, low + spread), gap = axis.ticks[1] - axis.ticks[0],
          scale = 1e-6 * (Math.abs(low) + spread);
    assert(axis.low <= low + scale && axis.high >= low + spread - scale, `${low} ${spread}`);
    assert(axis.ticks.length >= 2 && axis.ticks.length <= 10, `${axis.ticks}`);
    if (Math.abs(low) < 1e6 * spread) {
      const digit = gap / 10 ** Math.floor(Math.log10(gap * 1.000001));
      assert([1, 2, 5].some(d => Math.abs(digit - d) < 1e-4), `${gap}`);
    }
  }
assert.deepEqual(plain(draw.linear_axis(0, 37).ticks), [0, 10, 20, 30, 40]);
assert.equal(draw.linear_axis(1, 10).low, 0);  // nearly from 0: so it begins there
assert.equal(draw.linear_axis(0.91, 0.99).low, 0.9);
for (const raw of [7 * (1 - 1e-16), 70 * (1 - 1e-16), 0.7])
  assert(draw.linear_axis(0, raw).ticks.length > 2);  // log10 just below a whole number
assert(draw.linear_axis(3, 3).high > 3);
assert(near(draw.linear_axis(0, 40).at(10), 0.25));
assert.equal(draw.linear_axis(0, 40).at(80), 1);

// Logarithmic ones at 1, 2 and 5 times powers of ten, or at these alone.
assert.deepEqual(plain(draw.log_axis(960, 14011).ticks), [500, 1000, 2000, 5000, 10000, 20000]);
assert.deepEqual(plain(draw.log_axis(3, 3e6).ticks), [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7]);
assert(near(draw.log_axis(960, 14011).at(Math.sqrt(500 * 20000)), 0.5));
for (let value = 1e-9; value < 1e12; value *= 1.7) {
  const axis = draw.log_axis(value, 3 * value);
  assert(axis.low <= value * 1.000001 && axis.high >= 3 * value * 0.999999 && axis.high > axis.low, `${value}`);
}
const counts = draw.count_axis([8, 1, 2, 4, 2]);  // doublings are equally far apart
assert.deepEqual(plain(counts.ticks), [1, 2, 4, 8]);
assert(near(counts.at(2) - counts.at(1), counts.at(8) - counts.at(4)) && counts.at(1) > 0 && counts.at(8) < 1);
assert(near(draw.count_axis([4]).at(4), 0.5));

// Labels of nearly equal values stand apart, below the upper edge.
for (const last of [30, 100, 240]) {
  const labels = draw.move_apart([...Array(12).keys()].map(i => ({y: i === 11 ? last : 200 + i / 10})), 26);
  const heights = labels.map(l => l.y).sort((a, b) => a - b);
  assert(heights[0] >= 26 && heights.at(-1) <= 240, `${heights}`);
  heights.slice(1).forEach((y, i) => assert(y - heights[i] >= 13.9, `${heights}`));
}
assert.deepEqual(
    plain(draw.spaced([{x: 0, text: "1 000"}, {x: 20, text: "2 000"}, {x: 60, text: "3 000"}]).map(t => t.x)), [0, 60]);

// Numbers in units that fit.
assert.equal(draw.bytes(45e6), "42.9 MiB");
assert.equal(draw.bytes(0), "0 B");
assert.equal(draw.unit_of(draw.byte_units, 2 ** 30 - 1).name, "MiB");
assert.deepEqual(
    [12345, 0.12345, 1234567, 0, 1.2e-5, null, -3].map(draw.brief),
    ["12\u202f345", "0.1235", "1.235 M", "0", "1.2e\u22125", "not finite", "\u22123".replace("\u2212", "-")]);
assert.deepEqual([0.875, null].map(draw.percent), ["87.5%", "not finite"]);
assert.deepEqual([75.2, 3675, 59.9, null].map(draw.duration), ["1:15", "1:01:15", "1:00", "\u2013"]);

// A gap begins a new path; a stack has the sums up to each part.
const line = {
  x: [0, 1, 2, 3],
  y: [1, 2, null, 3]
};
assert.equal(draw.path_of(line, x => x, y => y), "M0.0 1.0L1.0 2.0M3.0 3.0");
const parts = [{y: [1, 2]}, {y: [3, null]}];
draw.stack(parts);
assert.deepEqual(plain(parts.map(p => p.high)), [[1, 2], [4, 2]]);
