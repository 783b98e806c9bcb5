"use strict";

/* Tables: sort by a click on a header, filter by words, show the source files of a clicked number. Figures: tooltips of
   marks. Tab and arrow keys also reach numbers and marks. Without this script, tables are static and marks have titles. */

function key(row, column) {
  const cell = row.cells[column];
  if (cell.textContent.startsWith("–")) return null;
  return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
}

function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}

/* Sort a table: the better end first, the other end after a second click. Groups that a column does not compare stay
   together; cells without a number are last in their group. */
function sort(table, column, reversed) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const header = heads[column];
  const first = header.dataset.first === "highest" ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const again = reversed === undefined ? header.getAttribute("aria-sort") === first : reversed;
  const order = again ? other : first;
  const turn = order === "ascending" ? 1 : -1;
  const group = heads.findIndex((one) => header.dataset.within && one.dataset.name === header.dataset.within);
  const body = table.tBodies[0];
  const groups = new Map();
  for (const row of body.rows) {
    const name = group < 0 ? "" : row.cells[group].textContent;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push([key(row, column), row]);
  }
  for (const rows of groups.values()) {
    const [known, missing] = [rows.filter((row) => row[0] !== null), rows.filter((row) => row[0] === null)];
    known.sort((a, b) => turn * compare(a[0], b[0]));
    body.append(...known.concat(missing).map((row) => row[1]));
  }
  for (const row of body.rows) row.classList.remove("first");
  for (const one of heads) one.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
  if (table === board) remember();
}

/* Show rows that match every word of the filter and every selected value. */
function filter(table) {
  const figure = table.closest("figure");
  const field = figure.querySelector("input.filter");
  const words = field ? field.value.toLowerCase().split(/\s+/) : [];
  const chosen = Array.from(figure.querySelectorAll("select"), (one) => [Number(one.dataset.column), one.value]);
  for (const row of table.tBodies[0].rows) {
    const shown = row.textContent.toLowerCase();
    const has = chosen.every(([column, value]) => value === "" || row.cells[column].textContent === value);
    row.hidden = !(has && words.every((word) => shown.includes(word)));
  }
  if (chosen.length) leaveOut(table, figure.querySelector(".lacking"), chosen);
  const none = figure.querySelector(".none");
  if (none) none.hidden = Array.from(table.tBodies[0].rows).some((row) => !row.hidden);
  stopAt(table, firstNumber(table));
}

/* Make one number of a table with source files a stop of the Tab key; arrow keys move it. */
function stopAt(table, cell) {
  for (const other of table.querySelectorAll("td[tabindex]")) other.removeAttribute("tabindex");
  if (cell) cell.tabIndex = 0;
}

function isShown(cell) {
  return !cell.hidden && !cell.parentElement.hidden && cell.classList.contains("number");
}

function firstNumber(table) {
  if (table.closest("figure").dataset.files === undefined) return null;
  return Array.from(table.tBodies[0].querySelectorAll("td.number")).find(isShown);
}

const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 };

function neighbour(cell, way) {
  const rows = Array.from(cell.closest("tbody").rows);
  const line = way === "ArrowUp" || way === "ArrowDown"
    ? rows.map((row) => row.cells[cell.cellIndex])
    : Array.from(cell.parentElement.cells);
  const shown = line.filter((other) => other === cell || isShown(other));
  return shown[shown.indexOf(cell) + STEPS[way]];
}

/* Hide and list columns without a number in the selected rows, such as a model of another size. Also hide columns of
   which one value is selected. */
function leaveOut(table, told, chosen) {
  const rows = Array.from(table.tBodies[0].rows).filter((row) => !row.hidden);
  const lacking = [];
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const none = rows.length > 0 && rows.every((row) => row.cells[column].textContent.startsWith("–"));
    const said = chosen.some(([other, value]) => other === column && value !== "");
    if (none) lacking.push(head.textContent);
    for (const row of [table.tHead.rows[0], ...table.tBodies[0].rows]) row.cells[column].hidden = none || said;
  });
  told.textContent = lacking.length ? `Hidden, no values in these rows: ${lacking.join("; ")}.` : "";
}

function bySize(a, b) {
  return Number(digits(a)) - Number(digits(b));
}

/* Show the elements of the selected vocabulary size (data-size) and corpus (data-corpus), or of all. */
function follow(figure) {
  const chosen = Array.from(figure.querySelectorAll(".choose select"), (one) => [one.dataset.name, written(one, one.value)]);
  for (const one of document.querySelectorAll("[data-size], [data-corpus]")) {
    one.hidden = chosen.some(([name, value]) => name in one.dataset && ![one.dataset[name], "all"].includes(value));
  }
  const answers = Array.from(document.querySelectorAll("#answer div[data-size]"));
  for (const none of document.querySelectorAll("#no-answer")) none.hidden = answers.some((one) => !one.hidden) || !answers.length;
}

function digits(text) {
  return text.replaceAll(",", "");
}

/* Add selections above a table. Initial values: the size of the answer, or all sizes if no size has two rows; for other
   columns, the value of the first row. */
function choices(table, names) {
  const heads = Array.from(table.tHead.rows[0].cells, (head) => head.dataset.name);
  const bar = document.createElement("div");
  bar.className = "choose";
  for (const name of names) {
    const column = heads.indexOf(name);
    const values = [...new Set(Array.from(table.tBodies[0].rows, (row) => row.cells[column].textContent))];
    if (values.length < 2) continue;
    if (name === "size") values.sort(bySize);
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.dataset.column = column;
    select.dataset.name = name;
    select.add(new Option("all", ""));
    for (const value of values) select.add(new Option(value, value));
    select.dataset.start = name === "size" ? startOf(values, table, column) : values[0];
    select.value = select.dataset.start;
    select.addEventListener("change", () => choose(table));
    label.append(name === "size" ? "vocabulary size " : `${name} `, select);
    bar.append(label);
  }
  const told = document.createElement("p");
  told.className = "notes lacking";
  above(table).before(bar, told);
}

/* Return the element before which controls are inserted: the key of signs, or the table. */
function above(table) {
  return table.closest("figure").querySelector(".key") || table.parentElement;
}

function startOf(sizes, table, column) {
  const answer = document.querySelector("#answer [data-size]:not([hidden])");
  const asked = answer && sizes.find((size) => digits(size) === answer.dataset.size);
  const count = (size) => Array.from(table.tBodies[0].rows).filter((row) => row.cells[column].textContent === size).length;
  return asked || sizes.filter((size) => count(size) > 1).pop() || "";
}

function choose(table) {
  filter(table);
  follow(table.closest("figure"));
  if (table === board) remember();
}

/* The address stores the anchor and the settings of the scoreboard: #evidence&size=1024&sort=tokens&filter=bpe. A minus
   before the column means the worse end first. */

const board = document.querySelector("#table-scoreboard table");
let restoring = false;

function address() {
  const parts = window.location.hash.slice(1).split("&");
  const settings = parts.filter((part) => part.includes("="));
  return [parts.find((part) => !part.includes("=")) || "", new Map(new URLSearchParams(settings.join("&")))];
}

function controls() {
  const figure = board.closest("figure");
  return [Array.from(figure.querySelectorAll(".choose select")), figure.querySelector("input.filter")];
}

function written(select, value) {
  return (select.dataset.name === "size" ? digits(value) : value) || "all";
}

function sorted() {
  const header = Array.from(board.tHead.rows[0].cells).find((one) => one.hasAttribute("aria-sort"));
  if (!header) return "";
  const first = header.dataset.first === "highest" ? "descending" : "ascending";
  return (header.getAttribute("aria-sort") === first ? "" : "-") + header.dataset.name;
}

function remember() {
  if (restoring) return;
  const [selects, field] = controls();
  const changed = selects.filter((select) => select.value !== select.dataset.start);
  const settings = changed.map((select) => [select.dataset.name, written(select, select.value)]);
  settings.push(["sort", sorted()], ["filter", field.value.trim()]);
  const known = settings.filter(([, value]) => value !== "").map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const hash = [address()[0], ...known].filter(Boolean).join("&");
  window.history.replaceState(null, "", hash ? `#${hash}` : window.location.pathname + window.location.search);
}

function restore() {
  const [place, settings] = address();
  const [selects, field] = controls();
  restoring = true;
  for (const select of selects) {
    const values = Array.from(select.options, (option) => option.value);
    const asked = values.find((value) => written(select, value) === settings.get(select.dataset.name));
    select.value = asked === undefined ? select.dataset.start : asked;
  }
  if (selects.length) choose(board);
  field.value = settings.get("filter") || "";
  filter(board);
  const by = settings.get("sort") || "";
  const column = Array.from(board.tHead.rows[0].cells, (head) => head.dataset.name).indexOf(by.replace(/^-/, ""));
  if (column >= 0) sort(board, column, by.startsWith("-"));
  restoring = false;
  const there = settings.size && document.getElementById(place);
  if (there) there.scrollIntoView();
}

for (const table of document.querySelectorAll("figure.table table")) {
  Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sort(table, column));
    header.replaceChildren(button);
  });
  const chosen = table.closest("figure").dataset.choose;
  if (chosen) choices(table, chosen.split(" "));
  if (chosen || table.tBodies[0].rows.length > 12) {
    const field = document.createElement("input");
    field.className = "filter";
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of this table");
    field.addEventListener("input", () => {
      filter(table);
      if (table === board) remember();
    });
    const none = document.createElement("p");
    none.className = "notes none";
    none.setAttribute("role", "status");
    none.textContent = "No row matches.";
    none.hidden = true;
    const bar = table.closest("figure").querySelector(".choose");
    if (bar) bar.append(field);
    else above(table).before(field);
    above(table).before(none);
  }
  if (chosen) filter(table);
  else stopAt(table, firstNumber(table));
}

if (board) {
  restore();
  window.addEventListener("hashchange", () => (address()[1].size ? restore() : remember()));
}

for (const help of document.querySelectorAll("#help")) help.hidden = false;

/* On narrow windows the contents are above the tables, so fold them. */
if (window.matchMedia("(max-width: 72rem)").matches) document.querySelector("nav details").open = false;

const told = document.getElementById("told");
let traced = null;

function show(lines, x, y, pointer) {
  told.className = pointer ? "pointer" : "";
  told.replaceChildren(...lines.map((line) => {
    const paragraph = document.createElement("p");
    paragraph.append(line);
    return paragraph;
  }));
  told.hidden = false;
  const room = document.documentElement.clientWidth - told.offsetWidth - 8;
  told.style.left = `${Math.max(8, Math.min(x + 12, room)) + window.scrollX}px`;
  const above = y + 14 + told.offsetHeight > window.innerHeight;
  told.style.top = `${(above ? y - told.offsetHeight - 10 : y + 14) + window.scrollY}px`;
}

function hide() {
  told.hidden = true;
  if (traced) traced.classList.remove("traced");
  traced = null;
}

/* Numbers: source files of a cell, and the recipe of its variant. */

function trace(cell) {
  const figure = cell.closest("figure.table");
  const heads = cell.closest("table").tHead.rows[0].cells;
  const head = heads[cell.cellIndex];
  const keys = {};
  Array.from(heads).forEach((other, column) => {
    const there = cell.parentElement.cells[column];
    const { path, key } = there.dataset;
    const told = path !== undefined ? path : key === undefined ? there.textContent : key;
    if (!/ \(\d+ seeds\)$/.test(told)) keys[other.dataset.name] = told;
  });
  Object.assign(keys, JSON.parse(figure.dataset.at), head.dataset.at ? JSON.parse(head.dataset.at) : {});
  const files = (head.dataset.files || figure.dataset.files).split(" ").filter(Boolean);
  const fill = (file) => file.replace(/{(\w+)}/g, (_, key) => (key in keys ? keys[key] : "*"));
  const unit = head.dataset.kind === "percent" ? 100 : 1;
  const value = cell.dataset.key === undefined ? "no value" : Number((unit * cell.dataset.key).toPrecision(12));
  const tables = head.dataset.kind === "timed" ? [] : figure.dataset.tables.split(" ");
  const lines = [`${head.textContent}: ${value}`, ...tables, ...files.map(fill)];
  for (const key of ["variant", "a", "b"]) {
    if (document.getElementById(`recipe-${keys[key]}`) === null) continue;
    const link = document.createElement("a");
    link.href = `#recipe-${keys[key]}`;
    link.textContent = `recipe of ${keys[key]}`;
    lines.push(link);
  }
  const box = cell.getBoundingClientRect();
  hide();
  traced = cell;
  cell.classList.add("traced");
  stopAt(cell.closest("table"), cell);
  show(lines, box.left, box.bottom - 10, false);
}

function tracing(event) {
  const cell = event.target.closest("figure.table[data-files] td.number");
  if (cell) return cell === traced ? hide() : trace(cell);
  if (traced && !told.contains(event.target)) hide();
}

/* Enter shows the source files of a number, the next Tab moves to the link to the recipe, Escape back to the number. */
function keyed(event) {
  if (event.key === "Escape") {
    const back = told.contains(document.activeElement) ? traced : null;
    hide();
    leave();
    if (back) back.focus();
    return;
  }
  const cell = event.target instanceof Element ? event.target.closest("td[tabindex]") : null;
  if (!cell) return;
  const [link, next] = [told.querySelector("a"), event.key in STEPS ? neighbour(cell, event.key) : null];
  if (event.key === "Enter" || event.key === " ") {
    if (cell === traced) hide();
    else trace(cell);
  } else if (event.key === "Tab" && !event.shiftKey && cell === traced && link) {
    link.focus();
  } else if (next) {
    hide();
    stopAt(cell.closest("table"), next);
    next.focus();
  } else if (!(event.key in STEPS)) {
    return;
  }
  event.preventDefault();
}

document.addEventListener("click", tracing);
document.addEventListener("keydown", keyed);

/* Figures: show the tooltip of the nearest mark within a few pixels, and highlight all marks of its group. */

const RINGS = [0, 3, 6, 10];

function nearest(x, y) {
  for (const radius of RINGS) {
    for (let turn = 0; turn < (radius ? 8 : 1); turn += 1) {
      const [across, down] = [x + radius * Math.cos((turn * Math.PI) / 4), y + radius * Math.sin((turn * Math.PI) / 4)];
      const found = document.elementsFromPoint(across, down).find((element) => element.closest(".told"));
      if (found) return found;
    }
  }
  return null;
}

function leave() {
  for (const svg of document.querySelectorAll("svg.pointing")) svg.classList.remove("pointing");
  if (!traced) told.hidden = true;
}

for (const svg of document.querySelectorAll(".drawing svg")) {
  for (const title of Array.from(svg.querySelectorAll(".told title"))) {
    title.parentElement.dataset.told = title.textContent;
    title.remove();
  }
  const marks = Array.from(svg.querySelectorAll("[data-told]"));
  const light = (mark, x, y) => {
    const group = mark && mark.closest(".told");
    svg.classList.toggle("pointing", group !== null && group.dataset.group !== "");
    for (const other of svg.querySelectorAll(".told")) {
      other.classList.toggle("lit", group !== null && other.dataset.group === group.dataset.group);
    }
    const says = mark && mark.closest("[data-told]");
    if (says) show([says.dataset.told], x, y, true);
    else if (!traced) told.hidden = true;
  };
  const answer = (event) => light(nearest(event.clientX, event.clientY), event.clientX, event.clientY);
  let at = -1;
  if (marks.length) svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    at = Math.max(0, Math.min(at + STEPS[event.key], marks.length - 1));
    const box = marks[at].getBoundingClientRect();
    light(marks[at], box.x + box.width / 2, box.y + box.height / 2);
    event.preventDefault();
  });
  svg.addEventListener("blur", leave);
  svg.addEventListener("pointermove", answer);
  svg.addEventListener("pointerdown", answer);
  svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") leave(); // Lifting a finger also fires pointerleave.
  });
}

document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest(".drawing svg")) leave();
});

window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
