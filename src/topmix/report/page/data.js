// What all files share: elements, numbers, the overview of the topics, and the state of the page. One scope for all.

const $ = (id) => document.getElementById(id);
const unpack = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const SVG = "http://www.w3.org/2000/svg";

// Makes an element. Strings become text nodes, so nothing in a document can become HTML. Styles are set one by one:
// the policy of the page forbids the attribute.
function element(tag, attributes = {}, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "hue") node.style.setProperty("--hue", value);
    else if (name === "style") node.style.cssText = value;
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const number = new Intl.NumberFormat("en"), percent = (x) => (100 * x).toFixed(x >= 0.0995 ? 0 : x >= 0.00995 ? 1 : 2) + "%";

// The overview: about, history, settings, and per topic labels, names, share, x and y. The rest comes from `source`.
let data = null, K = 0, largest = 1, angle = [], topWords = [], orders = {};
const state = { tab: "topics", topic: 0, word: null, wordTopics: [], relevance: 0.6, query: "", sort: "size", shown: [], documents: 3, details: null, asked: 0 };

function adopt(overview) {
  data = overview;
  K = data.share.length;
  largest = data.share.reduce((a, b) => Math.max(a, b), 1e-12);
  angle = data.x.map((x, k) => (Math.atan2(data.y[k], x) * 180 / Math.PI + 360) % 360);
  topWords = data.labels;
  const all = [...data.share.keys()];
  orders = {
    size: [...all].sort((a, b) => data.share[b] - data.share[a] || a - b),
    number: all,
    map: [...all].sort((a, b) => angle[a] - angle[b]),
  };
}

const hue = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light))`;
const soft = (k) => `hsl(${angle[k].toFixed(0)} var(--sat) var(--light) / .38)`;
const titleOf = (k) => data.names[k] ?? `Topic ${k}`, labelOf = (k) => data.names[k] ?? topWords[k].slice(0, 2).join(" ");
