// The terminal has the keyboard from the start, and again when the window does.
const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
// The page has the app's background around the terminal, which is a whole number of cells.
const follow_background = () => {
  const viewport = document.querySelector(".xterm-viewport");
  if (viewport === null) return;
  const follow = () => { document.body.style.background = viewport.style.backgroundColor; };
  new MutationObserver(follow).observe(viewport, { attributes: true, attributeFilter: ["style"] });
  follow();
};
// The keyboard of a phone covers part of the page: the terminal has the rest of it.
const follow_viewport = () => {
  const visible = window.visualViewport;
  if (visible === null || visible.scale !== 1) return;
  const height = `${visible.height}px`;
  const { style } = document.querySelector(".textual-terminal");
  if (style.height === height) return;
  style.height = height;
  window.dispatchEvent(new Event("resize"));
};
window.addEventListener("load", () => {
  focus();
  follow_background();
  window.visualViewport?.addEventListener("resize", follow_viewport);
  // Keys that browsers use for themselves, where a page may have them.
  window.addEventListener("keydown", (event) => {
    if (/^F([1-9]|10)$/.test(event.key) || (event.ctrlKey && /^[fgjoprs]$/.test(event.key))) event.preventDefault();
  });
});
window.addEventListener("focus", focus);
// Ctrl+V is left to the browser, which pastes its clipboard; the terminal would send it as a key.
window.addEventListener("keydown", (event) => {
  if (event.ctrlKey && !event.altKey && event.key.toLowerCase() === "v") event.stopImmediatePropagation();
}, true);
// The terminal has the focus and a size before it is connected.
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  if (this.readyState !== WebSocket.CONNECTING) send.call(this, data);
  else this.addEventListener("open", () => send.call(this, data), { once: true });
};
