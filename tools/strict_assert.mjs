/**
 * Makes `console.assert` throw, which by itself only prints: an example in the docs that asserts what is not so fails.
 * @module
 */
console.assert = (condition, ...message) => {
  if (!condition) throw new Error(["The example's assertion does not hold", ...message].join(": "));
};
