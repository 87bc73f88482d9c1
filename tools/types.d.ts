// bun-types adds this method to the URLSearchParams of node:url alone, so that Deno's checker would refuse a URL
// wherever node:fs or node:url takes one. Bun has it on the global class as well; nothing here calls it.
interface URLSearchParams {
  toJSON(): Record<string, string>;
}
