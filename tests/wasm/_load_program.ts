/** A program that only loads the codec and uses it; prints what it found. @module */
import { acquireCodec, releaseCodec, SLOP_BYTES, xxh64 } from "../../wasm/mod.ts";

const codec = acquireCodec();
const source = codec.arenaStart, length = 1000, target = source + length + SLOP_BYTES;
codec.bytes.fill(5, source, source + length);
const hash = codec.xxh64(source, length);
const written = codec.compress(source, length, target);
codec.bytes.fill(0, source, source + length);
const read = codec.decompress(target, written, source, length);
releaseCodec(codec);
const same = xxh64(new Uint8Array(length).fill(5)) === hash && codec.xxh64(source, length) === hash;
console.log(`written ${written}, read ${read}, same ${same}`);
