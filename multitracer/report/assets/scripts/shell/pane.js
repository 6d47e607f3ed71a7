// The pane that tells of what is chosen.

/** Scrolls the pane, never the page, so that an element stands right below the pane's heading. */
function bring(element) {
  const pane = document.getElementById("mt-details");
  const heading = pane.querySelector(".heading").getBoundingClientRect();
  pane.scrollTop += element.getBoundingClientRect().top - heading.bottom - 4;
}

/** Says what can be chosen as long as nothing is. */
function tell() {
  const told = "#mt-chosen:not(:empty), #mt-details > :is(article, #mt-selection):not([hidden])";
  document.getElementById("mt-nothing").hidden = document.querySelector(told) !== null;
}

MT.pane = { bring, tell };
