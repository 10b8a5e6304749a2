// What only the browser knows: the reader's zone of time, and the clipboard. Without this script a page shows and does the same but
// for these two.
"use strict";

document.documentElement.classList.add("scripted");

// A time says exactly when it was, where somebody points at it or comes to it.
function exactly(event) {
  const time = event.target.closest?.("time[datetime]");
  const at = time && new Date(time.dateTime);
  if (at && !isNaN(at)) {
    const here = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    time.title = `${here}\n${time.dateTime}`;
  }
}

document.addEventListener("pointerover", exactly);
document.addEventListener("focusin", exactly);

// A button copies the text of the element that it names. Where the browser does not allow that, it selects the text.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  const source = button && document.getElementById(button.dataset.of);
  if (!source) return;
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
});
