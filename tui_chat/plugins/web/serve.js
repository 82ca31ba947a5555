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
window.addEventListener("load", () => {
  focus();
  follow_background();
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
