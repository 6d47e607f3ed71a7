// Buttons that copy the text before them: display filters.

const SHOWN_MS = 1500; // for so long a button says that it has copied

function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

/** Copies, or where the browser does not allow that, selects the text to be copied by hand. */
async function copy(button) {
  const element = button.previousElementSibling;
  select(element);
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "copied";
  } catch {
    button.textContent = "selected";
  }
  setTimeout(() => (button.textContent = "copy"), SHOWN_MS);
}

/** Has all buttons inside an element copy. */
function listen(element) {
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) copy(button);
  });
}

MT.copying = { listen };
