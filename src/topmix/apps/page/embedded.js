// Where the data comes from: here, from the page itself. A live explorer has another file with the same functions.

const source = (() => {
  const all = JSON.parse($("data").textContent);
  const words = all.words;
  const frequency = unpack(all.frequency, Float32Array);
  const sizes = unpack(all.sizes, Uint16Array);
  const candidates = unpack(all.candidates, Int32Array);
  const logs = unpack(all.probabilities, Float32Array);
  const lookupTopics = unpack(all.lookup.topics, Uint16Array);
  const lookupWeights = unpack(all.lookup.weights, Uint8Array);
  const starts = new Uint32Array(sizes.length + 1);
  sizes.forEach((size, k) => {
    starts[k + 1] = starts[k] + size;
  });
  const idOf = new Map(words.map((word, v) => [word, v]));
  const sorted = words
    .map((word, v) => [word.toLowerCase(), v])
    .sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));

  function hasWord(k, query) {
    if (String(k) === query || all.names[k]?.toLowerCase().includes(query)) return true;
    for (let i = starts[k]; i < starts[k + 1]; i++) {
      // words with a higher probability here than in the whole corpus
      const v = candidates[i];
      if (logs[i] > frequency[v] && words[v].toLowerCase().startsWith(query)) return true;
    }
    return false;
  }

  return {
    isLive: false,
    overview: async () => all,
    tree: async () => all.tree,
    // {words: [word, log p(w | k), log p(w)], near: [topic, distance], documents}
    topic: async (k) => {
      const found = [];
      for (let i = starts[k]; i < starts[k + 1]; i++)
        found.push([words[candidates[i]], logs[i], frequency[candidates[i]]]);
      return {
        words: found,
        near: all.near[k],
        documents: all.of_topic[k].map((d) => all.documents[d]),
        hint: all.documents.length ? null : "To show documents here, pass --corpus to `topmix report`.",
      };
    },
    // The topics of a word with p(k | w); null for a word that is not known.
    word: async (word) => {
      const v = idOf.get(word) ?? idOf.get(word.toLowerCase());
      if (v === undefined) return null;
      const n = all.lookup.n;
      const topics = [];
      for (let i = v * n; i < (v + 1) * n; i++)
        if (lookupWeights[i]) topics.push([lookupTopics[i], lookupWeights[i] / 255]);
      return { word: words[v], topics };
    },
    suggest: async (query) => {
      let low = 0;
      let high = sorted.length;
      while (low < high) {
        const mid = (low + high) >> 1;
        if (sorted[mid][0] < query) low = mid + 1;
        else high = mid;
      }
      const found = [];
      for (let i = low; i < sorted.length && sorted[i][0].startsWith(query); i++) found.push(sorted[i][1]);
      return found
        .sort((a, b) => a - b)
        .slice(0, 8)
        .map((v) => words[v]);
    },
    columns: () => all.columns,
    // {is_time, groups: [group, documents, mean share of the topic]}; those with the most of it, unless they are
    // periods
    groups: async (name, k) => {
      const column = all.columns.find((c) => c.name === name);
      const groups = column.groups.map(([group, n], g) => [group, n, n ? column.shares[g][k] : null]);
      return {
        is_time: column.is_time,
        groups: column.is_time ? groups : groups.sort((a, b) => b[2] - a[2]).slice(0, 12),
      };
    },
    find: async (query) => [...all.share.keys()].filter((k) => hasWord(k, query)),
  };
})();
