/**
 * Base64 with padding (RFC 4648 section 4), strict: Node 20 has no `Uint8Array.fromBase64`, and `atob`
 * forgives white space.
 * @module
 */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const ENCODE = new TextEncoder().encode(ALPHABET);
const PADDING = 0x3d;
const INVALID = 255;
const DECODE = new Uint8Array(128).fill(INVALID);
for (let i = 0; i < 64; i++) DECODE[ENCODE[i]] = i;

/** How many bytes the text stands for; undefined when it can't be base64 by its length. */
export function base64DecodedBytes(text: string): number | undefined {
  if (text.length % 4 !== 0) return undefined;
  return text.length / 4 * 3 - paddingOf(text);
}

/**
 * Decodes into `target`, which has just the room that {@link base64DecodedBytes} says.
 *
 * @returns Whether the text is base64, its unused bits zero.
 */
export function decodeBase64Into(text: string, target: Uint8Array): boolean {
  const digits = text.length - paddingOf(text);
  let bits = 0;
  let at = 0;
  for (let i = 0; i < digits; i++) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? DECODE[code] : INVALID;
    if (value === INVALID) return false;
    bits = ((bits << 6) | value) & 0xffffff;
    switch (i & 3) {
      case 1:
        target[at++] = (bits >> 4) & 0xff;
        break;
      case 2:
        target[at++] = (bits >> 2) & 0xff;
        break;
      case 3:
        target[at++] = bits & 0xff;
    }
  }
  const unused = digits % 4 === 2 ? 0xf : digits % 4 === 3 ? 0x3 : 0;
  return (bits & unused) === 0;
}

/** Encodes bytes. */
export function encodeBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING);
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const bits = (bytes[i] << 16) | (left > 1 ? bytes[i + 1] << 8 : 0) |
      (left > 2 ? bytes[i + 2] : 0);
    codes[at++] = ENCODE[bits >> 18];
    codes[at++] = ENCODE[(bits >> 12) & 63];
    if (left > 1) codes[at] = ENCODE[(bits >> 6) & 63];
    at++;
    if (left > 2) codes[at] = ENCODE[bits & 63];
    at++;
  }
  return new TextDecoder().decode(codes);
}

function paddingOf(text: string): number {
  if (!text.endsWith("=")) return 0;
  return text.endsWith("==") ? 2 : 1;
}
