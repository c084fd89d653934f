// What all files share: elements, numbers, the overview of the topics, and the state of the page. One scope for all.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element. Strings become text nodes, so nothing in a document can become HTML. Styles are set one by one: the
 * policy of the page forbids the attribute.
 *
 * @param {string} tag - with "svg:" before the names of SVG
 * @param {Object<string, *>} attributes - null and false leave one out; functions listen to events; `hue` is a colour
 * @param {...(Node|string|null)} children
 * @returns {Element}
 */
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

// An array that the server has packed as base64.
const unpack = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

const number = new Intl.NumberFormat("en");
const percent = (x) => (100 * x).toFixed(x >= 0.0995 ? 0 : x >= 0.00995 ? 1 : 2) + "%";

// A row that opens something: its number, a text over a bar as long as the share, and the share.
function meter(id, share, text, attributes) {
  return element(
    "button",
    { class: "meter", ...attributes },
    element("span", { class: "number" }, String(id)),
    element(
      "span",
      { class: "track" },
      element("i", { style: `width:${100 * share}%` }),
      element("span", { dir: "auto" }, text),
    ),
    element("span", { class: "value" }, percent(share)),
  );
}

/**
 * What the page knows of all topics. The rest comes from `source`, which embedded.js and server.js define alike.
 *
 * @typedef {Object} Overview
 * @property {Object<string, *>} about - facts of the model
 * @property {Array<[number, number, number, string]>} history - pass, seconds, objective, phase
 * @property {Array<[string, string]>} settings
 * @property {number[]} ids - per topic the number that stays with it through edits, which the page shows
 * @property {Object<number, number|null>} became - of topics that are gone: what they were merged into
 * @property {string[][]} labels - per topic its most relevant words
 * @property {Array<string|null>} names - that somebody gave
 * @property {number[]} share - of all tokens
 * @property {Array<string|null>} quality - why a topic is hardly worth reading
 * @property {number[]|null} x - on the map; null until there is one
 * @property {number[]|null} y
 * @property {Object<string, *>} [depends] - effects of covariates, and words of versions
 * @property {number[]} [frozen] - topics; of the explorer alone
 */

/** @type {Overview|null} */
let data = null;
let K = 0;
let rowOf = new Map(); // of a topic, by the number that stays with it
let largest = 1;
let angle; // per topic its direction on the map, which is its colour; undefined until there is a map
let topWords = [];
let orders = {};
const state = {
  tab: "topics",
  topic: 0,
  word: null,
  wordTopics: [],
  relevance: 0.8,
  query: "",
  sort: "size",
  tiny: false, // whether the map shows topics under a fifth of the mean share
  folded: true, // topics that are hardly worth reading are not in the list
  shown: [],
  documents: 3,
  details: null,
  asked: 0,
};

const onOverview = []; // functions that draw again what lists all topics

/** @param {Overview} overview */
function adopt(overview) {
  data = overview;
  K = data.share.length;
  rowOf = new Map(data.ids.map((id, k) => [id, k]));
  largest = data.share.reduce((a, b) => Math.max(a, b), 1e-12);
  angle = data.x?.map((x, k) => ((Math.atan2(data.y[k], x) * 180) / Math.PI + 360) % 360);
  topWords = data.labels;
  const all = [...data.share.keys()];
  orders = {
    size: [...all].sort((a, b) => isPoor(a) - isPoor(b) || data.share[b] - data.share[a] || a - b),
    number: all,
    map: angle === undefined ? all : [...all].sort((a, b) => angle[a] - angle[b]),
  };
  for (const draw of onOverview) draw();
}

// The row of the topic with this number, or of the one that it has become part of; null where it is gone.
function followed(id) {
  while (!rowOf.has(id) && data.became[id] !== undefined && data.became[id] !== null) id = data.became[id];
  return rowOf.get(id) ?? null;
}

const isPoor = (k) => data.quality[k] !== null;
// Grey until there is a map.
const tint = (k) => (angle === undefined ? "0 0%" : `${angle[k].toFixed(0)} var(--sat)`);
const hue = (k) => `hsl(${tint(k)} var(--light))`;
const soft = (k) => `hsl(${tint(k)} var(--light) / .38)`;
// Inside a document its topics have colours that everybody can tell apart, and letters; the hue of the map is the map's.
const OWN = ["#56b4e9", "#e69f00", "#d1478c", "#6a80f8", "#5fe67a", "#8f7c56", "#cfc5af", "#c2e0f0"];
function ownColours(topics) {
  return new Map(topics.map(([k], i) => [k, { colour: OWN[i % OWN.length], letter: String.fromCharCode(65 + i) }]));
}

const titleOf = (k) => data.names[k] ?? `Topic ${data.ids[k]}`;
const labelOf = (k) => data.names[k] ?? topWords[k].slice(0, 2).join(" ");
