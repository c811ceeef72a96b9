// Puts a field above the tables of a page: only the rows that hold its words are shown, and only headings with rows.
for (const place of document.querySelectorAll(".rewarden-filter")) {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter";
  field.setAttribute("aria-label", "Filter the tables of this page");
  place.append(field);
  const article = place.closest("article");
  const tables = [...article.querySelectorAll("table")];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const table of tables) {
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      // Headings and paragraphs stand before the wrapper that the theme puts around a table.
      const wrapper = table.closest(".md-typeset__scrollwrap") ?? table;
      wrapper.hidden = shown === 0;
      const above = wrapper.previousElementSibling;
      if (above?.tagName === "H2") above.hidden = shown === 0;
    }
  });
}
