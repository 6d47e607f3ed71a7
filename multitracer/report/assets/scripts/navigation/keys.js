// Keys of the whole page.

/** Calls what `actions` has for a key, unless something else takes it: a field, the open help, the browser. */
function listen(actions, help) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

MT.keys = { listen };
