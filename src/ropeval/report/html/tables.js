"use strict";
// Every table sorts by a click on a heading, and can be copied or kept as CSV. Numbers keep all their digits there.
// Nothing here reads or writes anything outside this page, but what the reader asks to copy or to keep.
(() => {
  const words = (cell) => [...cell.childNodes].map((node) => node.textContent).join(" ").replace(/\s+/g, " ").trim();
  const exact = (cell) => cell.dataset.value ?? (cell.querySelector("[aria-label=none]") ? "" : words(cell));

  // A row without a name has the one above it: said again, where the rows leave their order.
  function name(table) {
    let last = "";
    for (const { cells: [first] } of table.tBodies[0].rows) {
      if (words(first) === "") first.textContent = last;
      last = words(first);
    }
  }

  // Rows of text. A spreadsheet would compute what begins like a formula, whoever wrote it into a name: a ' stops it.
  function rows(table) {
    const safe = (text) => (/^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? "'" + text : text);
    const copied = table.cloneNode(true);
    name(copied);
    return [...copied.rows].map((row) => [...row.cells].map((cell) => safe(exact(cell))));
  }

  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const csv = (table) => rows(table).map((row) => row.map(quoted).join(",") + "\r\n").join("");

  function keep(table) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv(table)], { type: "text/csv" }));
    link.download = `${table.dataset.name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  async function copy(table, button) {
    const text = rows(table).map((row) => row.join("\t")).join("\n");
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  // What is not known comes last in both directions; numbers come before words.
  function key(row, column) {
    const text = row.cells[column] === undefined ? "" : exact(row.cells[column]);
    const value = Number(text.replace(/[,%\s]/g, "").replace("−", "-"));
    return text === "" || text === "–" ? null : Number.isFinite(value) ? value : text.toLowerCase();
  }

  function compare(a, b) {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  }

  function sort(table, column) {
    const heading = table.tHead.rows[0].cells[column], body = table.tBodies[0];
    name(table);
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...body.rows].map((row) => [key(row, column), row]);
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : compare(a, b) * (down ? -1 : 1)));
    body.append(...keyed.map(([, row]) => row));
  }

  function button(label, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", () => act(made));
    return made;
  }

  for (const table of document.querySelectorAll("main table")) {
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(button("Copy", (self) => copy(table, self)), button("CSV", () => keep(table)));
    table.parentElement.after(tools);
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const own = button("", () => sort(table, column));
      own.append(...heading.childNodes);
      heading.append(own);
    });
  }
})();
