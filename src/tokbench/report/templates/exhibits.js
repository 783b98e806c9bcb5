"use strict";

/* Exhibits: copy tables as Markdown or LaTeX and the configuration as text; open folds together or by a link into them;
   mark the visible section in the contents. Without this script, files are linked and folds open one by one. */

{
  function button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "act";
    made.textContent = text;
    made.addEventListener("click", () => act(made));
    return made;
  }

  async function copy(made, text) {
    const name = made.textContent;
    let copied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      copied = document.execCommand("copy");
      field.remove();
      made.focus();
    }
    made.textContent = copied ? "Copied" : "Not copied";
    setTimeout(() => { made.textContent = name; }, 1500);
  }

  /* Return text, sign, note and interval of a cell. The text of a header is that of its button. */
  function parts(cell) {
    const rest = cell.cloneNode(true);
    const taken = (selector) => {
      const texts = Array.from(rest.querySelectorAll(selector), (one) => { one.remove(); return one.textContent; });
      return texts.join("");
    };
    const interval = taken(":scope > small");
    const note = taken("sup.mark > small") + taken("sup:not(.mark)");
    const sign = taken("sup.mark");
    return { text: rest.textContent.trim(), sign, note, interval, best: cell.querySelector("strong") !== null };
  }

  function shownRows(table) {
    const rows = [table.tHead.rows[0], ...Array.from(table.tBodies[0].rows).filter((row) => !row.hidden)];
    return rows.map((row) => Array.from(row.cells).filter((cell) => !cell.hidden).map(parts));
  }

  function caption(figure) {
    return figure.querySelector("figcaption").textContent.replace(/\s+/g, " ").replace(/^Table \d+\. /, "").trim();
  }

  function aligned(table) {
    const heads = Array.from(table.tHead.rows[0].cells).filter((cell) => !cell.hidden);
    return heads.map((cell) => cell.classList.contains("number"));
  }

  function asMarkdown(figure) {
    const table = figure.querySelector("table");
    const safe = (text) => text.replace(/([\\|`*_<])/g, "\\$1");
    const cell = ({ text, sign, note, interval, best }) =>
      (best ? `**${safe(text)}**` : safe(text)) + sign + (interval ? ` (${safe(interval)})` : "") + (note ? ` [${note}]` : "");
    const lines = shownRows(table).map((row) => `| ${row.map(cell).join(" | ")} |`);
    lines.splice(1, 0, `| ${aligned(table).map((number) => (number ? "---:" : ":---")).join(" | ")} |`);
    return `**${safe(caption(figure))}**\n\n${lines.join("\n")}\n`;
  }

  const COMMANDS = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}",
    ">": "\\textgreater{}", "|": "\\textbar{}", "–": "--", "−": "$-$", "×": "$\\times$", "≈": "$\\approx$",
    "★": "$\\star$", "↑": "$\\uparrow$", "↓": "$\\downarrow$", "○": "$\\circ$", "≤": "$\\leq$", "≥": "$\\geq$",
    "†": "$\\dagger$", "‡": "$\\ddagger$", "∞": "$\\infty$",
  };

  function latex(text) {
    return text.replace(/[&%$#_{}]|[\\~^<>|–−×≈★↑↓○≤≥†‡∞]/g, (sign) => COMMANDS[sign] || `\\${sign}`);
  }

  function asLatex(figure) {
    const table = figure.querySelector("table");
    const cell = ({ text, sign, note, interval, best }) =>
      (best ? `\\textbf{${latex(text)}}` : latex(text)) + (sign + note ? `\\textsuperscript{${latex(sign + note)}}` : "")
      + (interval ? ` {\\scriptsize(${latex(interval)})}` : "");
    const [head, ...rows] = shownRows(table).map((row) => `    ${row.map(cell).join(" & ")} \\\\`);
    const columns = aligned(table).map((number) => (number ? "r" : "l")).join("");
    return [
      "% Package: booktabs", "\\begin{table}[t]", "  \\centering", `  \\caption{${latex(caption(figure))}}`,
      `  \\begin{tabular}{${columns}}`, "    \\toprule", head, "    \\midrule", ...rows, "    \\bottomrule",
      "  \\end{tabular}", "\\end{table}", "",
    ].join("\n");
  }

  for (const figure of document.querySelectorAll("figure.table")) {
    const number = figure.querySelector("figcaption b").textContent.replace(".", "");
    for (const [form, make] of [["Markdown", asMarkdown], ["LaTeX", asLatex]]) {
      const made = button(`Copy as ${form}`, (one) => copy(one, make(figure)));
      made.title = `Copy ${number} as ${form}`;
      figure.querySelector(".files").append(made, " ");
    }
  }

  for (const pre of document.querySelectorAll("section > details > pre")) {
    pre.before(button("Copy", (one) => copy(one, pre.textContent)));
  }

  /* Folds */

  const folds = document.querySelectorAll("main details");
  const contents = document.querySelector("nav");
  if (folds.length && contents) {
    const bar = document.createElement("p");
    bar.className = "folds";
    for (const [text, open] of [["Unfold all", true], ["Fold all", false]]) {
      bar.append(button(text, () => { for (const fold of folds) fold.open = open; }), " ");
    }
    contents.querySelector("summary").after(bar);
  }

  function unfoldTarget() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target && target.closest("details:not([open])");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
  }

  window.addEventListener("hashchange", unfoldTarget);
  unfoldTarget();

  /* Contents: mark the last heading that was scrolled past. */

  const SEEN = 0.3; // Upper share of the window in which a heading becomes current.
  const marked = new Map();
  for (const link of document.querySelectorAll("nav a[href^='#']")) {
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (target) marked.set(target.matches("section") ? target.querySelector("h2") : target, link);
  }

  function markPlace() {
    let current = null;
    const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    for (const [head, link] of marked) {
      if (head.getBoundingClientRect().top < window.innerHeight * SEEN || atEnd) current = link;
    }
    for (const link of marked.values()) {
      if (link === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  const observer = new IntersectionObserver(markPlace, { rootMargin: `0px 0px -${100 - 100 * SEEN}% 0px` });
  for (const head of marked.keys()) observer.observe(head);
  window.addEventListener("scrollend", markPlace);
}
