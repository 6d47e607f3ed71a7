// The page of erasure traces: labels its series with the traces' names.

const labels = {};
JSON.parse(document.getElementById("mt-names").textContent).forEach((name, i) => {
  labels["lost " + i] = name + ", blocks lost, %";
  labels["rate " + i] = name + ", error rate of the stretch, %";
  labels["burst " + i] = name + ", burst, blocks";
});
MT.page.start(labels, MT.page.drawAll);
