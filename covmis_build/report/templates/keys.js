"use strict";
// What a key stands for: a digit of any script for its value, a letter of another script for the Latin one in its place.
function keyOf({ key, code, shiftKey }) {
  if (/^\p{Nd}$/u.test(key)) {
    let value = 0;
    while (/\p{Nd}/u.test(String.fromCodePoint(key.codePointAt(0) - value - 1))) value += 1;
    return String(value % 10);
  }
  if (/^[ -~]+$/.test(key)) return key;
  if (code === "Slash") return shiftKey ? "?" : "/";
  const printed = /^(?:Key|Digit)(.)$/.exec(code)?.[1] ?? key;
  return shiftKey ? printed : printed.toLowerCase();
}
