"use strict";

/* The leaderboard: a table of tokenizers on the chosen text, sorted by a click on a header and filtered by words. */

function show(place, data) {
  const names = languageNames();
  const state = { text: "languages", sorted: "bytes_per_token", reversed: false };
  const select = textSelect(data, names);
  const field = element("input", { type: "search", placeholder: "name, maker, year" });
  const best = element("p", { className: "leaderboard-note" });
  const table = element("table", { className: "leaderboard-table" });
  const scroll = element("div", { className: "leaderboard-scroll", tabIndex: 0 });
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Leaderboard");
  scroll.append(table);
  const controls = element("div", { className: "leaderboard-controls" });
  controls.append(labelled("Text", select), labelled("Filter", field));
  place.append(controls, scroll, best);
  select.addEventListener("change", () => { state.text = select.value; draw(); });
  field.addEventListener("input", draw);
  draw();

  function draw() {
    const rows = data.values[state.text].map((values) => ({
      ...data.tokenizers[values[0]], ...Object.fromEntries(data.columns.map((name, index) => [name, values[index]])),
    }));
    const columns = COLUMNS.filter((one) => rows.some((row) => known(row[one.name])));
    if (!columns.some((one) => one.name === state.sorted)) state.sorted = "bytes_per_token";
    arrange(rows, columns.find((one) => one.name === state.sorted));
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter((row) => {
      const text = `${row.title} ${row.variant} ${row.maker} ${row.year} ${row.licence}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const most = Math.max(...rows.map((row) => row.bytes_per_token ?? 0));
    const head = element("tr");
    for (const one of columns) head.append(header(one));
    const body = element("tbody");
    for (const row of shown) body.append(line(row, columns, most));
    const top = element("thead");
    top.append(head);
    table.replaceChildren(caption(), top, body);
    best.textContent = shown.length ? note(rows) : "No tokenizer matches the filter.";
  }

  function caption() {
    const one = element("caption");
    one.textContent = `${select.selectedOptions[0].textContent}: a click on a heading sorts.`;
    return one;
  }

  function header(one) {
    const cell = element("th", { scope: "col", title: one.about });
    const button = element("button", { type: "button", textContent: one.heading });
    if (one.name === state.sorted) {
      cell.setAttribute("aria-sort", (one.first === "highest") !== state.reversed ? "descending" : "ascending");
    }
    button.addEventListener("click", () => {
      state.reversed = state.sorted === one.name && !state.reversed;
      state.sorted = one.name;
      draw();
      table.querySelectorAll("thead button")[cell.cellIndex]?.focus();
    });
    cell.append(button);
    if (isNumber(one.name)) cell.classList.add("number");
    return cell;
  }

  function arrange(rows, one) {
    const turn = (one.first === "highest") !== state.reversed ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [a[one.name], b[one.name]];
      if (one.name !== "title" && a.ranked !== b.ranked) return a.ranked ? -1 : 1;
      if (!known(x) || !known(y)) return known(y) - known(x);
      const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return turn * order || b.bytes_per_token - a.bytes_per_token;
    });
  }

  function note(rows) {
    const lossy = rows.some((row) => !row.ranked) ? " † The tokenizer loses text, so it is not ranked and comes last." : "";
    const interval = rows.some((row) => known(row.low)) ? " Small numbers are 95 % intervals." : "";
    return "★ most bytes per token, ≈ no significant difference from it, ○ not tested; all others are significantly worse." +
      interval + lossy + " Each tokenizer has its own size; a larger vocabulary alone needs fewer tokens.";
  }
}

const COLUMNS = [
  { name: "title", heading: "Tokenizer", first: "lowest", about: "Name and maker" },
  { name: "bytes_per_token", heading: "Bytes per token", first: "highest", about: "Bytes of the text / tokens; more is better" },
  { name: "behind", heading: "More tokens than the best", first: "lowest", about: "Tokens / tokens of the best − 1" },
  { name: "premium", heading: "Tokens per English token", first: "lowest",
    about: "Tokens / tokens of the same text in English; for all languages their mean" },
  { name: "size", heading: "Vocabulary", first: "highest", about: "Tokens that a text can give" },
  { name: "words_in_one_token", heading: "Words in one token", first: "highest",
    about: "Words, runs of letters, marks and numbers, with bytes of one token only" },
  { name: "tokens_per_digit", heading: "Tokens per digit", first: "lowest", about: "Tokens with bytes of numbers / digits" },
  { name: "documents_changed", heading: "Documents changed", first: "lowest", about: "Documents that decoding does not return byte for byte" },
  { name: "megabytes_per_second", heading: "MB/s", first: "highest", about: "First encoding of the text on one core, through Tokbench" },
  { name: "year", heading: "Year", first: "highest", about: "Year of the first model with it" },
  { name: "licence", heading: "Licence", first: "lowest", about: "Licence of the package with the file" },
];
const SIGNS = { best: "★", "no significant difference": "≈", "not tested": "○" };

function line(row, columns, most) {
  const one = element("tr");
  if (!row.ranked) one.className = "unranked";
  for (const { name } of columns) {
    const cell = element(name === "title" ? "th" : "td", name === "title" ? { scope: "row" } : {});
    const value = row[name];
    if (name === "title") {
      cell.append(value + (row.ranked ? "" : " †"), small(row.maker));
    } else if (!known(value)) {
      cell.append("–");
    } else if (name === "bytes_per_token") {
      cell.style.setProperty("--share", `${(100 * value) / most}%`);
      cell.append(`${sign(row)} ${value.toFixed(2)}`.trim());
      if (known(row.low)) cell.append(small(`${row.low.toFixed(2)} to ${row.high.toFixed(2)}`));
    } else {
      cell.append(FORMATS[name] ? FORMATS[name](value, row) : String(value));
    }
    if (isNumber(name)) cell.classList.add("number");
    if (name === "bytes_per_token") cell.classList.add("bar");
    one.append(cell);
  }
  return one;
}

const FORMATS = {
  size: (value) => value.toLocaleString("en"),
  behind: (value) => (value === 0 ? "–" : `+${(100 * value).toFixed(1)} %`),
  premium: (value) => value.toFixed(2),
  words_in_one_token: (value) => `${(100 * value).toFixed(1)} %`,
  tokens_per_digit: (value) => value.toFixed(2),
  documents_changed: (value, row) => (value ? `${value.toLocaleString("en")} of ${row.documents.toLocaleString("en")}` : "none"),
  megabytes_per_second: (value) => value.toFixed(value < 10 ? 1 : 0),
};

function isNumber(name) {
  return name !== "title" && name !== "licence";
}

function sign(row) {
  return row.ranked ? SIGNS[row.verdict] ?? "" : "";
}

function known(value) {
  return value !== null && value !== undefined;
}

function textSelect(data, names) {
  const select = element("select");
  const kinds = element("optgroup", { label: "Kinds of text" });
  for (const [key, name] of Object.entries(data.texts)) kinds.append(new Option(name, key));
  select.append(kinds);
  const groups = { languages: "Languages (parallel text)", code: "Programming languages", tables: "Forms of tables" };
  for (const [text, label] of Object.entries(groups)) {
    const keys = Object.keys(data.values).filter((key) => key.startsWith(`${text}/`));
    const options = keys.map((key) => {
      const tag = key.slice(text.length + 1);
      return new Option(text === "languages" ? names(tag) : tag, key);
    });
    options.sort((a, b) => a.text.localeCompare(b.text, "en"));
    if (options.length) {
      const group = element("optgroup", { label });
      group.append(...options);
      select.append(group);
    }
  }
  return select;
}

/* Names of languages by tag, as the browser knows them. */
function languageNames() {
  if (typeof Intl.DisplayNames !== "function") return (tag) => tag;
  const display = new Intl.DisplayNames("en", { type: "language" });
  return (tag) => {
    try {
      return display.of(tag.replaceAll("_", "-")) ?? tag;
    } catch {
      return tag;
    }
  };
}

function labelled(text, control) {
  const label = element("label");
  label.append(`${text} `, control);
  return label;
}

function small(text) {
  return element("small", { textContent: text });
}

function element(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}

for (const place of document.querySelectorAll(".leaderboard")) {
  const data = JSON.parse(place.querySelector("script[type='application/json']").textContent);
  show(place, data);
}
