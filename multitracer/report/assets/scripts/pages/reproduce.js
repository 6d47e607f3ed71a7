// The page of reproduced papers: the table of statements, and the figures of the chosen paper.

/** Shows the figures of one paper, or of all. */
function showPaper(page, paper) {
  for (const model of page.models.filter((one) => one.type === "Figure" && one.tags.length)) {
    model.visible = !paper || model.tags.includes(paper);
  }
}

MT.page.start({}, async (page) => {
  const table = document.getElementById("mt-statements");
  const lists = Array.from(document.querySelectorAll("select[data-filter]"));
  MT.sorting.makeSortable(table);
  MT.statements.makeFilters(table, lists, document.getElementById("mt-shown"), (chosen) =>
    showPaper(page, chosen.paper),
  );
  return MT.page.keepStill(page);
});
