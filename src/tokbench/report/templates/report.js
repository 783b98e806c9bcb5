"use strict";

/* Tables can be sorted by a click on a header and filtered by words; without this script they read as they stand. */

function key(row, column) {
  const cell = row.cells[column];
  if (cell.textContent.startsWith("–")) return null;
  return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
}

function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}

function sort(table, column) {
  const header = table.tHead.rows[0].cells[column];
  const turn = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [key(row, column), row]);
  const [known, missing] = [rows.filter((row) => row[0] !== null), rows.filter((row) => row[0] === null)];
  known.sort((a, b) => turn * compare(a[0], b[0]));
  body.append(...known.concat(missing).map((row) => row[1]));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
}

function filter(table, text) {
  const words = text.toLowerCase().split(/\s+/);
  for (const row of table.tBodies[0].rows) {
    const shown = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => shown.includes(word));
  }
}

for (const table of document.querySelectorAll("figure.table table")) {
  Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sort(table, column));
    header.replaceChildren(button);
  });
  if (table.tBodies[0].rows.length > 12) {
    const field = document.createElement("input");
    field.className = "filter";
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of this table");
    field.addEventListener("input", () => filter(table, field.value));
    table.parentElement.before(field);
  }
}

window.addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
