// The data of the page, helpers to make elements, and the state of the page. All files share one scope.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const unpack = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const SVG = "http://www.w3.org/2000/svg";

// Makes an element. Strings become text nodes, so nothing in a document can become HTML.
function element(tag, attributes = {}, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "hue") node.style.setProperty("--hue", value);
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const K = data.share.length, words = data.words;
const frequency = unpack(data.frequency, Float32Array);
const sizes = unpack(data.sizes, Uint16Array), candidates = unpack(data.candidates, Int32Array);
const logs = unpack(data.probabilities, Float32Array);
const starts = new Uint32Array(K + 1);
for (let k = 0; k < K; k++) starts[k + 1] = starts[k] + sizes[k];
const lookupTopics = unpack(data.lookup.topics, Uint16Array), lookupWeights = unpack(data.lookup.weights, Uint8Array);
const idOf = new Map(words.map((word, v) => [word, v]));
const sortedWords = words.map((word, v) => [word.toLowerCase(), v]).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
const largest = Math.max(...data.share, 1e-12);
const number = new Intl.NumberFormat("en"), percent = (x) => (100 * x).toFixed(x >= 0.0995 ? 0 : x >= 0.00995 ? 1 : 2) + "%";
const angle = data.x.map((x, k) => (Math.atan2(data.y[k], x) * 180 / Math.PI + 360) % 360);
const hue = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light))`;
const soft = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light) / .38)`;

const state = { topic: 0, word: null, relevance: 0.6, query: "", sort: "size", shown: [], documents: 3 };

function bestWords(k, n, relevance) {
  const found = [];
  for (let i = starts[k]; i < starts[k + 1]; i++) {
    const v = candidates[i];
    found.push([logs[i] - (1 - relevance) * frequency[v], v, logs[i]]);
  }
  return found.sort((a, b) => b[0] - a[0]).slice(0, n);
}
const topWords = data.labels;
const titleOf = (k) => data.names[k] ?? `Topic ${k}`, labelOf = (k) => data.names[k] ?? topWords[k].slice(0, 2).join(" ");

function topicsOf(v) {
  const n = data.lookup.n, found = [];
  for (let i = v * n; i < (v + 1) * n; i++) if (lookupWeights[i]) found.push([lookupTopics[i], lookupWeights[i] / 255]);
  return found;
}
