// What only the browser knows: the reader's zone of time, the clipboard, what is ticked, and whether a replica still answers. Without
// this script a page shows and does the same but for these.
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

// A time that is written out is in the reader's zone, as all others are. The server writes UTC.
const clock = { hour: "2-digit", minute: "2-digit" };
const WRITTEN = [
  [/^\d{4}-.*Z$/, new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" })],
  [/^\d\d:\d\d UTC$/, new Intl.DateTimeFormat(undefined, clock)],
  [/^\d+ [A-Z][a-z]{2}, \d\d:\d\d UTC$/, new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...clock })],
];

function inOwnZone() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const [, format] = WRITTEN.find(([shape]) => shape.test(time.textContent)) ?? [];
    if (format && !isNaN(at)) time.textContent = format.format(at);
  }
}

// What is live comes from the server anew. It is written anew before anybody sees it.
new MutationObserver(inOwnZone).observe(document.body, { childList: true, characterData: true, subtree: true });
inOwnZone();

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

// The boxes of a list, whatever they are called.
const BOX = "form.choice input[type='checkbox']:not(.all)";

// The box above a list ticks all of its boxes.
document.addEventListener("change", (event) => {
  if (!event.target.matches?.("form.choice input.all")) return;
  for (const box of document.querySelectorAll(BOX)) if (box.form === event.target.form) box.checked = event.target.checked;
});

// While something is ticked, what is live stays as it is: nothing else may come to stand beside a tick.
const isTicked = () => document.querySelector(`#live ${BOX}:checked`) !== null;

// What is live is asked for every five seconds. Where no answer comes it stays in view, the page says since when, and asks less and
// less often. A page in the background asks nothing.
const SOONEST = 5_000;
const LATEST = 300_000;
let failures = 0;
let next = 0;
let answered = new Date();

const isLive = (event) => ["live", "sent"].includes(event.detail?.ctx?.sourceElement?.id);

function failed() {
  failures += 1;
  // Pages that lost the same replica do not all come back at once.
  next = Date.now() + Math.min(SOONEST * 2 ** failures, LATEST) * (0.75 + Math.random() / 2);
  const note = document.getElementById("unanswered") ?? document.createElement("p");
  note.id = "unanswered";
  note.className = "note warning";
  note.role = "status";
  note.textContent = `No answer since ${answered.toLocaleTimeString()}. What is shown is of that time.`;
  document.getElementById("live")?.before(note);
}

document.addEventListener("htmx:before:request", (event) => {
  if (isLive(event) && (document.hidden || isTicked() || Date.now() < next)) event.preventDefault();
});

document.addEventListener("htmx:before:response", (event) => {
  if (!isLive(event)) return;
  const isFailure = event.detail.ctx.response.status >= 500;
  if (isFailure || isTicked()) event.preventDefault();
  if (isFailure) failed();
});

document.addEventListener("htmx:error", (event) => {
  if (isLive(event)) failed();
});

document.addEventListener("htmx:after:request", (event) => {
  if (!isLive(event)) return;
  failures = next = 0;
  answered = new Date();
  document.getElementById("unanswered")?.remove();
});
