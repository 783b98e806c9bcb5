"use strict";

/* Tokenization of the reader's text by the tokenizers of the page, with the ids of the library. Bytes are JavaScript
   strings of code units 0 to 255. tests/report/test_own_text.py compares the ids with Tokenizer.encode. */

const ownText = (() => {
  const SEPARATOR = "\u0100";
  const START = 1;
  const byte = String.fromCharCode;

  /* Return UTF-8 of a text. A lone surrogate has three bytes, as in Python with "surrogatepass". */
  function utf8(text) {
    let bytes = "";
    for (const character of text) {
      const code = character.codePointAt(0);
      if (code < 0x80) bytes += byte(code);
      else if (code < 0x800) bytes += byte(0xc0 | code >> 6, 0x80 | code & 63);
      else if (code < 0x10000) bytes += byte(0xe0 | code >> 12, 0x80 | code >> 6 & 63, 0x80 | code & 63);
      else bytes += byte(0xf0 | code >> 18, 0x80 | code >> 12 & 63, 0x80 | code >> 6 & 63, 0x80 | code & 63);
    }
    return bytes;
  }

  /* Return code points with their number of bytes. A byte outside valid UTF-8 is a lone surrogate from U+DC80 on. */
  function decoded(bytes) {
    const characters = [];
    for (let place = 0; place < bytes.length;) {
      const lead = bytes.charCodeAt(place);
      const size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
      let code = size < 2 ? lead : lead & 0xff >> size + 1;
      let valid = size > 0 && place + size <= bytes.length;
      for (let next = place + 1; valid && next < place + size; next += 1) {
        const value = bytes.charCodeAt(next);
        valid = (value & 0xc0) === 0x80;
        code = code << 6 | value & 63;
      }
      const least = [0, 0, 0x80, 0x800, 0x10000][size];
      valid = valid && code >= least && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      characters.push(valid ? [code, size] : [0xdc00 + lead, 1]);
      place += valid ? size : 1;
    }
    return characters;
  }

  /* Pre-tokens: byte offset of each, and the end of the last one. */

  function symbolsOf(automaton, characters) {
    if (!automaton.starts) {
      automaton.starts = [];
      automaton.classes = [];
      let first = 0;
      for (let place = 0; place < automaton.runs.length; place += 2) {
        first += automaton.runs[place];
        automaton.starts.push(first);
        automaton.classes.push(automaton.runs[place + 1]);
      }
    }
    const symbols = characters.map(([code]) => {
      let [low, high] = [0, automaton.starts.length];
      while (high - low > 1) {
        const middle = low + high >> 1;
        if (automaton.starts[middle] <= code) low = middle;
        else high = middle;
      }
      return automaton.classes[low];
    });
    const last = characters.length - 1;
    if (automaton.final !== null && last >= 0 && characters[last][0] === 10) symbols[last] = automaton.final;
    symbols.push(automaton.steps[0].length - 1);
    return symbols;
  }

  function matchEnd(automaton, symbols, start) {
    let [state, end] = [START, start];
    for (let place = start; place < symbols.length; place += 1) {
      const step = automaton.steps[state][symbols[place]];
      if (step & 1) end = place;
      state = step >> 1;
      if (state === 0) break;
    }
    return end;
  }

  function pieceEnd(automaton, symbols, start) {
    const world = (symbol) => automaton.worlds[symbol < automaton.worlds.length ? symbol : automaton.feed];
    const end = matchEnd(automaton, symbols, start);
    if (end > start) return end;
    let place = start + 1;
    while (place < symbols.length - 1 && world(symbols[place]) === world(symbols[start])) {
      if (matchEnd(automaton, symbols, place) > place) break;
      place += 1;
    }
    return place;
  }

  function boundaries(automaton, characters) {
    const places = [0];
    for (const [, size] of characters) places.push(places[places.length - 1] + size);
    if (characters.length === 0) return [0];
    if (automaton === null) return [0, places[places.length - 1]];
    const symbols = symbolsOf(automaton, characters);
    const bounds = [0];
    for (let start = 0; start < characters.length;) {
      start = pieceEnd(automaton, symbols, start);
      bounds.push(places[start]);
    }
    return bounds;
  }

  /* Random draws: SplitMix64, seeded with the FNV-1a hash of the bytes, the place and the seed. */

  const GOLDEN = 0x9e3779b97f4a7c15n;
  const word = (value) => BigInt.asUintN(64, value);

  function mixed(state) {
    let value = word((state ^ state >> 30n) * 0xbf58476d1ce4e5b9n);
    value = word((value ^ value >> 27n) * 0x94d049bb133111ebn);
    return value ^ value >> 31n;
  }

  function hashed(bytes) {
    let value = 0xcbf29ce484222325n;
    for (let place = 0; place < bytes.length; place += 1) {
      value = word((value ^ BigInt(bytes.charCodeAt(place))) * 0x100000001b3n);
    }
    return value;
  }

  function drawsOf(bytes, seed, place) {
    let state = mixed(hashed(bytes) ^ place ^ mixed(word(BigInt(seed) + GOLDEN)));
    return () => {
      state = word(state + GOLDEN);
      return mixed(state);
    };
  }

  const placeOf = (document, offset) => mixed(word(mixed(word(hashed(document) + GOLDEN)) + BigInt(offset)));

  /* Vocabularies */

  function prepare(vocabulary) {
    if (vocabulary.list) return vocabulary;
    const plain = (packed) => packed.replace(/[\u017f-\u01ff]/g, (one) => byte(one.charCodeAt(0) - 0x100));
    const list = vocabulary.tokens.split(SEPARATOR).map(plain);
    const inside = vocabulary.continuation;
    const index = (among) => {
      const places = new Map();
      list.forEach((token, place) => {
        if (among(place) && !places.has(token)) places.set(token, place);
      });
      return places;
    };
    const kept = vocabulary.kept === undefined ? list.length : vocabulary.kept;
    const scores = vocabulary.scores;
    vocabulary.list = list;
    vocabulary.longest = list.reduce((most, token) => Math.max(most, token.length), 0);
    vocabulary.every = index(() => true);
    vocabulary.places = index((place) => place < kept && !(scores && scores[place] === null));
    vocabulary.first = inside ? index((place) => inside[place] === "0") : vocabulary.places;
    vocabulary.rest = inside ? index((place) => inside[place] === "1") : vocabulary.places;
    if (vocabulary.lefts) vocabulary.pairs = mergesOf(vocabulary);
    if (vocabulary.events) {
      vocabulary.pairs = pairsOf(vocabulary.events.filter(([split]) => !split), vocabulary);
      vocabulary.changes = vocabulary.events.map(([split, ...parts]) => {
        const whole = [vocabulary.every.get(parts.map((part) => list[part]).join(""))];
        return split ? [whole, parts] : [parts, whole];
      });
      const removals = vocabulary.changes.filter((_, number) => vocabulary.events[number][0]);
      vocabulary.removals = new Map(removals.map(([[whole], parts]) => [whole, parts]));
    }
    return vocabulary;
  }

  const pairKey = (vocabulary, left, right) => left * vocabulary.list.length + right;

  function mergesOf(vocabulary) {
    const { list, every, lefts } = vocabulary;
    const results = vocabulary.results || lefts.map((_, rank) => list.length - lefts.length + rank);
    const merges = results.map((result, rank) => {
      const token = list[result];
      return [0, every.get(token.slice(0, lefts[rank])), every.get(token.slice(lefts[rank]))];
    });
    return pairsOf(merges, vocabulary);
  }

  /* Return rank and result of each merged pair, from its first merge. */
  function pairsOf(merges, vocabulary) {
    const pairs = new Map();
    merges.forEach(([, left, right], rank) => {
      const key = pairKey(vocabulary, left, right);
      const token = vocabulary.list[left] + vocabulary.list[right];
      if (!pairs.has(key)) pairs.set(key, [rank, vocabulary.every.get(token)]);
    });
    return pairs;
  }

  /* Segmentations: from the bytes of a pre-token to places in the vocabulary. */

  const single = (vocabulary, text) => Array.from(text, (one) => vocabulary.every.get(one));

  /* Join the pair of the lowest rank (leftmost on ties) until no pair has a rank. */
  function join(ids, pairOf) {
    const known = (place) => place >= 0 && place + 1 < ids.length ? pairOf(ids[place], ids[place + 1]) : undefined;
    const pairs = ids.map((_, place) => known(place));
    for (;;) {
      let best = -1;
      pairs.forEach((pair, place) => {
        if (pair && (best < 0 || pair[0] < pairs[best][0])) best = place;
      });
      if (best < 0) return ids;
      ids.splice(best, 2, pairs[best][1]);
      pairs.splice(best, 1);
      for (const place of [best - 1, best]) if (place >= 0) pairs[place] = known(place);
    }
  }

  function merge(text, vocabulary) {
    return join(single(vocabulary, text), (left, right) => vocabulary.pairs.get(pairKey(vocabulary, left, right)));
  }

  function wholeOr(text, vocabulary, otherwise) {
    const place = vocabulary.places.get(text);
    return place === undefined ? otherwise() : [place];
  }

  function ranked(text, vocabulary) {
    const { list, places } = vocabulary;
    const pairOf = (left, right) => {
      const result = places.get(list[left] + list[right]);
      return result === undefined ? undefined : [result, result];
    };
    return wholeOr(text, vocabulary, () => join(single(vocabulary, text), pairOf));
  }

  function bpeDropout(text, vocabulary, options, place) {
    if (options.dropout === 0) return merge(text, vocabulary);
    const ids = single(vocabulary, text);
    if (options.dropout === 1) return ids;
    const draw = drawsOf(text, options.seed, place);
    const limit = options.dropout * 2 ** 53;
    for (;;) {
      const possible = [];
      for (let at = 0; at + 1 < ids.length; at += 1) {
        const pair = vocabulary.pairs.get(pairKey(vocabulary, ids[at], ids[at + 1]));
        if (pair) possible.push([pair[0], at, pair[1]]);
      }
      possible.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const chosen = possible.find(() => Number(draw() >> 11n) >= limit);
      if (!chosen) return ids;
      ids.splice(chosen[1], 2, chosen[2]);
    }
  }

  /* Return the most bytes of a token, within the limit of the options. */
  const limitOf = (vocabulary, options) => Math.min(vocabulary.longest, options.max_token_bytes || Infinity);

  function longestPrefix(text, vocabulary, options) {
    const most = limitOf(vocabulary, options);
    const ids = [];
    for (let start = 0; start < text.length;) {
      const places = start === 0 ? vocabulary.first : vocabulary.rest;
      let end = Math.min(text.length, start + most);
      while (!places.has(text.slice(start, end))) end -= 1;
      ids.push(places.get(text.slice(start, end)));
      start = end;
    }
    return ids;
  }

  function longestSuffix(text, vocabulary) {
    const ids = [];
    for (let end = text.length; end > 0;) {
      let start = Math.max(0, end - vocabulary.longest);
      while (!vocabulary.places.has(text.slice(start, end))) start += 1;
      ids.push(vocabulary.places.get(text.slice(start, end)));
      end = start;
    }
    return ids.reverse();
  }

  /* Find the best last token of each prefix; tokens that end there are tried from the shortest to the longest. */
  function bestPath(text, vocabulary, options, better) {
    const most = limitOf(vocabulary, options);
    const costs = [0];
    const last = [0];
    for (let end = 1; end <= text.length; end += 1) {
      let [cost, token] = [undefined, 0];
      for (let start = end - 1; start >= Math.max(0, end - most); start -= 1) {
        const place = vocabulary.places.get(text.slice(start, end));
        if (place === undefined) continue;
        const found = better(cost, costs[start], place);
        if (found !== undefined) [cost, token] = [found, place];
      }
      costs.push(cost);
      last.push(token);
    }
    const ids = [];
    for (let end = text.length; end > 0; end -= vocabulary.list[last[end]].length) ids.push(last[end]);
    return ids.reverse();
  }

  function shortestPath(text, vocabulary, options, place) {
    const draw = options.ties === "random" ? drawsOf(text, options.seed, place) : null;
    let equal = 0n;
    return bestPath(text, vocabulary, options, (cost, before) => {
      if (cost === undefined || before + 1 < cost) equal = 1n;
      else if (before + 1 > cost) return undefined;
      else if (draw) {
        equal += 1n;
        if ((draw() >> 32n) * equal >> 32n) return undefined;
      }
      return before + 1;
    });
  }

  function likelihood(text, vocabulary, options) {
    return bestPath(text, vocabulary, options, (cost, before, place) => {
      const score = vocabulary.scores[place] + before;
      return cost === undefined || score >= cost ? score : undefined;
    });
  }

  function likeliestShortestPath(text, vocabulary, options) {
    const wider = options.ties === "trailing";
    return bestPath(text, vocabulary, options, (best, before, place) => {
      const [tokens, cost] = before || [0, 0];
      const found = [tokens + 1, cost + vocabulary.scores[place]];
      const less = best === undefined ? -1 : found[0] - best[0] || found[1] - best[1];
      return less < 0 || (less === 0 && wider) ? found : undefined;
    });
  }

  function cover(text, vocabulary) {
    const matches = [];
    for (let start = 0; start < text.length; start += 1) {
      for (let end = start + 1; end <= Math.min(text.length, start + vocabulary.longest); end += 1) {
        const place = vocabulary.places.get(text.slice(start, end));
        if (place !== undefined) matches.push([place, start, end]);
      }
    }
    matches.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const cuts = new Array(text.length + 1).fill(true);
    for (const [, start, end] of matches) if (cuts[start] && cuts[end]) cuts.fill(false, start + 1, end);
    const ids = [];
    for (let start = 0, end = 1; end <= text.length; end += 1) {
      if (!cuts[end]) continue;
      ids.push(vocabulary.places.get(text.slice(start, end)));
      start = end;
    }
    return ids;
  }

  function events(text, vocabulary) {
    return wholeOr(text, vocabulary, () => {
      let ids = single(vocabulary, text);
      const present = new Set(ids);
      for (const [old, fresh] of vocabulary.changes) {
        if (!old.every((one) => present.has(one))) continue;
        const done = [];
        for (let place = 0; place < ids.length;) {
          const there = old.every((one, step) => ids[place + step] === one);
          done.push(...(there ? fresh : [ids[place]]));
          place += there ? old.length : 1;
        }
        ids = done;
        for (const one of fresh) present.add(one);
      }
      return ids;
    });
  }

  function postRemoval(text, vocabulary, options) {
    const rest = (id) => id < vocabulary.kept ? [id] : vocabulary.removals.get(id).flatMap(rest);
    const cut = () => merge(text, vocabulary).flatMap(rest);
    return options.whole_tokens ? wholeOr(text, vocabulary, cut) : cut();
  }

  const METHODS = {
    merge, ranked, likelihood, cover, events,
    whole_or_merge: (text, vocabulary) => wholeOr(text, vocabulary, () => merge(text, vocabulary)),
    bpe_dropout: bpeDropout,
    greedy: longestPrefix,
    longest_prefix: longestPrefix,
    longest_suffix: longestSuffix,
    shortest_path: shortestPath,
    likeliest_shortest_path: likeliestShortestPath,
    post_removal: postRemoval,
  };

  /* Tokenize a text in bytes: places in the vocabulary, ids, and ends of tokens. */
  function cut(data, tokenizer, bytes) {
    const vocabulary = prepare(data.vocabularies[tokenizer.vocabulary]);
    const bounds = boundaries(data.pretokenizers[tokenizer.pretokenizer], decoded(bytes));
    const { method, options } = tokenizer;
    const placed = options.draws === "document";
    const known = new Map();
    const places = [];
    for (let number = 0; number + 1 < bounds.length; number += 1) {
      const piece = bytes.slice(bounds[number], bounds[number + 1]);
      if (placed || !known.has(piece)) {
        known.set(piece, METHODS[method](piece, vocabulary, options, placed ? placeOf(bytes, bounds[number]) : 0n));
      }
      places.push(...known.get(piece));
    }
    const ends = [];
    for (const place of places) ends.push((ends.length ? ends[ends.length - 1] : 0) + vocabulary.list[place].length);
    return { places, ids: places.map((place) => vocabulary.ids ? vocabulary.ids[place] : place), ends };
  }

  /* Return a token in visible characters, like tokbench.examples.cut.visible, with the browser's version of Unicode. */

  const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u2800]/u;
  const MARK = /[\p{M}\u1160-\u11ff\ud7b0-\ud7ff]/u;
  const SIGNS = { " ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍" };

  function visible(bytes) {
    let [shown, alone] = ["", true];
    for (const [code] of decoded(bytes)) {
      const character = String.fromCodePoint(code);
      if (UNSEEN.test(character)) {
        const hidden = code >= 0xdc80 && code <= 0xdcff
          ? (code - 0xdc00).toString(16)
          : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
        shown += SIGNS[character] || `⟨${hidden}⟩`;
        alone = true;
      } else {
        shown += alone && MARK.test(character) ? `◌${character}` : character;
        alone = false;
      }
    }
    return shown;
  }

  const hex = (bytes) => Array.from(bytes, (one) => one.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");

  function element(name, ...content) {
    const made = document.createElement(name);
    made.append(...content);
    return made;
  }

  /* Return the hue of an id in degrees, by the golden angle: ids near each other differ most. */
  const hueOf = (id) => Math.round(id * 137.508) % 360;

  /* Return one row; tokens have the colour of their id, and those that the first row does not have are marked. */
  function rowOf(tokenizer, bytes, done, pieces) {
    const name = tokenizer.name.split("_").flatMap((part, number) => number ? ["_", element("wbr"), part] : [part]);
    const tokens = element("dd");
    tokens.dir = "auto";
    done.ends.forEach((end, number) => {
      const start = number ? done.ends[number - 1] : 0;
      const token = element("span", visible(bytes.slice(start, end)));
      token.className = pieces.has(`${start} ${end}`) ? "t" : "t d";
      token.dataset.id = done.ids[number];
      token.style.setProperty("--hue", hueOf(done.ids[number]));
      token.title = `${done.ids[number]}: ${hex(bytes.slice(start, end))}`;
      tokens.append(token);
    });
    return element("div", element("dt", ...name, " ", element("small", String(done.ids.length))), tokens);
  }

  function sentence(data, cuts, bytes) {
    const least = Math.min(...cuts.map((done) => done.ids.length));
    const names = data.tokenizers.filter((_, row) => cuts[row].ids.length === least).map(({ name }) => name);
    const size = `${bytes.length.toLocaleString("en")} ${bytes.length === 1 ? "byte" : "bytes"}`;
    return `${size}. Fewest tokens: ${least.toLocaleString("en")} by ${names.join(", ")}.`;
  }

  const PAUSE = 700; // Milliseconds after the last key before the result is announced.

  function open(box) {
    const data = JSON.parse(document.getElementById("own-data").textContent);
    const [input, said] = [box.querySelector("textarea"), box.querySelector("[role=status]")];
    const [figure, rows] = [box.querySelector("figure"), box.querySelector("dl")];
    let timer = 0;
    const answer = () => {
      const bytes = utf8(input.value);
      if (data.tokenizers.length === 0) {
        figure.hidden = true;
        return "";
      }
      const cuts = data.tokenizers.map((tokenizer) => cut(data, tokenizer, bytes));
      const ends = [0, ...cuts[0].ends];
      const pieces = new Set(cuts[0].ends.map((end, number) => `${ends[number]} ${end}`));
      rows.replaceChildren(...cuts.map((done, row) => rowOf(data.tokenizers[row], bytes, done, pieces)));
      figure.hidden = bytes === "";
      return bytes === "" ? "" : sentence(data, cuts, bytes);
    };
    input.addEventListener("input", () => {
      const result = answer();
      clearTimeout(timer);
      timer = setTimeout(() => { said.textContent = result; }, PAUSE);
    });
    said.textContent = answer();
    box.hidden = false;
    const button = box.querySelector("#own-load");
    if (button) button.addEventListener("click", () => load(button, data, () => { said.textContent = answer(); }));
  }

  let receive = () => {};

  /* Add the tokenizers of a file next to the page. It is a script, because pages of a disk may not read other files. */
  function load(button, data, answer) {
    const script = document.createElement("script");
    receive = (part) => {
      appendPart(data, part);
      button.parentElement.hidden = true;
      answer();
    };
    script.addEventListener("error", () => {
      button.textContent = `${button.dataset.file} is not next to this page; copy it there, too`;
      button.disabled = false;
    });
    button.disabled = true;
    script.src = button.dataset.file;
    document.body.append(script);
  }

  function appendPart(data, part) {
    const [pretokenizers, vocabularies] = [data.pretokenizers.length, data.vocabularies.length];
    data.pretokenizers.push(...part.pretokenizers);
    data.vocabularies.push(...part.vocabularies);
    for (const one of part.tokenizers) {
      const places = { pretokenizer: one.pretokenizer + pretokenizers, vocabulary: one.vocabulary + vocabularies };
      data.tokenizers.push({ ...one, ...places });
    }
  }

  const add = (part) => receive(part);

  return { utf8, decoded, cut, visible, open, appendPart, add };
})();

if (typeof document !== "undefined" && document.getElementById("own-text")) {
  ownText.open(document.getElementById("own-text"));
}
