// Runs the script of a page in Node, over a document of a few lines, and prints what it drew as JSON: figures, tables,
// elements by name, texts, and paths by their class. It fails where a number is none, and where the script throws.
//   node draw_page.mjs PAGE.html [STATE.json]   STATE.json: what the live page gets
import {readFileSync} from "node:fs";
import vm from "node:vm";

const broken = /NaN|undefined|Infinity|\[object/;
class Element {
  constructor(tag) { Object.assign(this, {tag, attributes: {}, children: [], style: {}}); }
  setAttribute(name, value) {
    if (broken.test(String(value))) throw new Error(`<${this.tag} ${name}="${value}">`);
    this.attributes[name] = String(value);
  }
  getAttribute(name) { return this.attributes[name]; }
  append(...nodes) { this.children.push(...nodes.map(n => n instanceof Element ? n : String(n))); }
  replaceChildren(...nodes) {
    this.children = [];
    this.append(...nodes);
  }
  get textContent() { return this.children.map(c => c instanceof Element ? c.textContent : c).join(""); }
  set textContent(text) { this.children = [String(text)]; }
  all(tag) {
    return this.children.flatMap(
        c => c instanceof Element ? [...(!tag || c.tag === tag ? [c] : []), ...c.all(tag)] : []);
  }
  getBoundingClientRect() { return {left: 0, width: 560}; }
}

const html = readFileSync(process.argv[2], "utf8");
const found = html.match(
    /<script type="application\/json" id="data" data-view="(\w+)">([^]*?)<\/script>\s*<script>([^]*?)<\/script>/);
const main = new Element("main"), data = new Element("script");
data.setAttribute("data-view", found[1]);
data.textContent = found[2];
const answer = process.argv[3] ? JSON.parse(readFileSync(process.argv[3], "utf8")) : null;
const context = {
  console,
  AbortSignal,
  setTimeout: () => {},
  matchMedia: () => ({matches: false, addEventListener() {}}),
  fetch: async () => ({json: async () => answer}),
  document: {
    createElement: tag => new Element(tag),
    createElementNS: (_, tag) => new Element(tag),
    getElementById: () => data,
    querySelector: () => main
  }
};
vm.runInNewContext(found[3], context);
await new Promise(done => setImmediate(done));  // the answer of fetch()
for (const svg of main.all("svg")) svg.onpointermove?.({clientX: 300});
const text = main.textContent;
if (broken.test(text)) throw new Error("a text: " + text.match(new RegExp(`.{0,40}(${broken.source}).{0,40}`))[0]);

const elements = {}, paths = {};
for (const {tag} of main.all()) elements[tag] = (elements[tag] || 0) + 1;
for (const {attributes} of main.all("path")) (paths[attributes.class] ||= []).push(attributes.d);
console.log(JSON.stringify({
  figures: main.all("figure").map(f => f.all("svg")[0].attributes["aria-label"]),
  elements,
  paths,
  text,
  cells: main.all("td").map(cell => cell.textContent),
  readouts: main.all("p").filter(p => p.attributes.class === "readout").map(p => p.textContent)
}));
