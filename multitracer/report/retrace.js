"use strict";
// The page of retrace: its series have the traces' names.
(function () {
  const names = {}, known = JSON.parse(document.getElementById("mt-names").textContent);
  known.runs.forEach((name, i) => { names["best " + i] = name + ", best size of the minute, octets"; });
  known.traces.forEach((name, i) => {
    names["lost " + i] = name + ", blocks lost, %";
    names["burst " + i] = name + ", burst, blocks";
  });
  mtShell(names, async function ({engine, load, drawn}) {
    for (const [name, one] of await load("all")) engine.put(name, one.kind, one.columns);
    return async () => drawn();
  });
})();
