// The page of retrace: labels its series with the traces' names.

const labels = {};
const names = JSON.parse(document.getElementById("mt-names").textContent);
names.runs.forEach((name, i) => {
  labels["best " + i] = name + ", best size of the minute, octets";
});
names.traces.forEach((name, i) => {
  labels["lost " + i] = name + ", blocks lost, %";
  labels["burst " + i] = name + ", burst, blocks";
});
MT.page.start(labels, MT.page.drawAll);
