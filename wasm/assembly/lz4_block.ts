/**
 * Facts of the LZ4 block format that both directions need.
 * Source: "LZ4 Block Format Description", lz4 project, doc/lz4_Block_format.md.
 */

/** A match repeats at least this many bytes; a token's match length counts from here. */
export const MATCH_BYTES_MIN: u32 = 4;
/** Value of a token's half that says: more length bytes follow. */
export const TOKEN_HALF_MAX: u32 = 15;
/** Value of a length byte that says: another one follows. */
export const LENGTH_BYTE_MAX: u32 = 255;
/** The last match starts at least this many bytes before the end of the data. */
export const LAST_MATCH_MARGIN: u32 = 12;
/** The last bytes of the data are always literals. */
export const LAST_LITERALS: u32 = 5;
