// How the site's search ranks: Sphinx's own scores, guides first, the reference and the appendix of results last.
var Scorer = {
  score: (result) => {
    const [page, , , , score] = result;
    if (page.startsWith("guides/") || page.startsWith("learn/")) return score + 9;
    if (page.startsWith("results/") || page.startsWith("contribute/")) return score - 20;
    return page.startsWith("reference/") ? score - 5 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
