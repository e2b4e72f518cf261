"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  // The theme: what the reader's system prefers, until the button is pressed.
  const theme = document.querySelector(".theme");
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();

  // On a small screen the contents would fill the first page.
  if (matchMedia("(max-width: 40rem)").matches)
    for (const contents of document.querySelectorAll("nav details")) contents.open = false;

  // Sorting: by `data-key` where a cell has one, else by its text; cells without anything stay at the end.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const key = cell.dataset.key ?? cell.textContent.trim();
    return key === "" || key === "–" ? null : key;
  };
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  };
  const sort = (header) => {
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentElement.cells) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = header.closest("table").tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row, header.cellIndex) }));
    rows.sort((a, b) => {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return (down ? -1 : 1) * compare(a.key, b.key);
    });
    body.append(...rows.map((each) => each.row));
  };
  for (const button of document.querySelectorAll("thead button"))
    button.addEventListener("click", () => sort(button.closest("th")));

  // A name in a legend lifts its lines out of the picture; pressed again, all are equal.
  for (const button of document.querySelectorAll(".legend button"))
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      const pressed = button.getAttribute("aria-pressed") === "true";
      for (const other of figure.querySelectorAll(".legend button")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(!pressed));
      figure.classList.toggle("picked", !pressed);
      for (const line of figure.querySelectorAll(".series"))
        line.classList.toggle("chosen", line.dataset.name === button.dataset.name);
    });
})();
