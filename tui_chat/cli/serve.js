// The terminal has the keyboard from the start, and again when the window does.
const focus = () => document.querySelector(".xterm-helper-textarea")?.focus();
window.addEventListener("load", () => {
  focus();
  // Keys that browsers use for themselves, where a page may have them.
  window.addEventListener("keydown", (event) => {
    if (/^F([1-9]|10)$/.test(event.key) || (event.ctrlKey && /^[fgjoprs]$/.test(event.key))) event.preventDefault();
  });
});
window.addEventListener("focus", focus);
