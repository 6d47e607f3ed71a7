"use strict";
// The page of erasure traces: its series have the traces' names.
(function () {
  const names = {};
  JSON.parse(document.getElementById("mt-names").textContent).forEach((name, i) => {
    names["lost " + i] = name + ", blocks lost, %";
    names["rate " + i] = name + ", error rate of the stretch, %";
    names["burst " + i] = name + ", burst, blocks";
  });
  mtShell(names, async function ({engine, load, drawn}) {
    for (const [name, one] of await load("all")) engine.put(name, one.kind, one.columns);
    return async () => drawn();
  });
})();
