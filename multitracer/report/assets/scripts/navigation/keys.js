// Keys of the whole page.

/**
 * Calls what `actions` has for a key, unless something else takes it: a field, the open help, the browser. A button
 * with a `data-key` does what that key does.
 */
function listen(actions, help) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-key]");
    if (button) actions[button.dataset.key]();
  });
}

MT.keys = { listen };
