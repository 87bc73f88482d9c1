/**
 * Speed and size of the codec beside `lz4-napi` and `lz4-wasm`, on the runtime that it runs on.
 *
 * Blocks rotate through a corpus, since a block met again and again is learnt by the branch
 * predictor. `own` works in the module's memory; `own, copied` copies in and out of arrays that
 * are used again.
 * @module
 */
import { Codec, compressBound, SLOP_BYTES } from "../../wasm/mod.ts";
import {
  barAtLeast,
  barAtMost,
  type BenchBar,
  type BenchOptions,
  type BenchResult,
  type BenchRow,
  type Candidate,
  geometricMean,
  interleavedRounds,
  median,
  speedRatio,
} from "./_bench.ts";
import { loadWasmPeer, NATIVE_PEER, PEER_PREFIX_BYTES, type PeerCodec } from "./_codec_peers.ts";
import { CORPUS_KINDS, type CorpusKind, makeCorpus } from "./_corpora.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

interface Sizes {
  readonly corpusBytes: number;
  readonly blockBytes: readonly number[];
  /** Bytes that each candidate works through in one round. */
  readonly roundBytes: number;
  readonly rounds: number;
}

const FULL: Sizes = {
  corpusBytes: 8 * MIB,
  blockBytes: [64 * KIB, MIB],
  roundBytes: 3 * MIB,
  rounds: 61,
};
const SMOKE: Sizes = {
  corpusBytes: 128 * KIB,
  blockBytes: [16 * KIB, 64 * KIB],
  roundBytes: 64 * KIB,
  rounds: 3,
};

/** One block of a corpus, raw and compressed, where each candidate wants it. */
interface Block {
  readonly raw: Uint8Array;
  readonly rawAt: number;
  readonly packed: Uint8Array;
  readonly packedAt: number;
  readonly byNative: Uint8Array;
  readonly byWasm: Uint8Array;
}

interface Peers {
  readonly native: PeerCodec;
  readonly wasm: PeerCodec;
}

interface Cell {
  readonly kind: CorpusKind;
  readonly blockBytes: number;
  readonly sizeRatio: number;
  readonly sizeToNative: number;
  readonly compress: Times;
  readonly decompress: Times;
}

type Times = Readonly<Record<"own" | "copied" | "native" | "wasm", number[]>>;

/** A codec whose arena holds a corpus raw and compressed, and an output area. */
function createBenchCodec(corpusBytes: number, blockBytes: number): Codec {
  const blocks = corpusBytes / blockBytes;
  const block = blockBytes + SLOP_BYTES, packed = compressBound(blockBytes) + SLOP_BYTES;
  return Codec.create({ arenaBytes: blocks * (block + packed) + packed + 2 * block });
}

function layOut(codec: Codec, corpus: Uint8Array, blockBytes: number, peers: Peers): Block[] {
  const blocks: Block[] = [];
  let at = codec.arenaStart;
  for (let from = 0; from < corpus.length; from += blockBytes) {
    const raw = corpus.subarray(from, from + blockBytes);
    const packedAt = at + blockBytes + SLOP_BYTES;
    codec.bytes.set(raw, at);
    const packedBytes = codec.compress(at, blockBytes, packedAt);
    blocks.push({
      raw,
      rawAt: at,
      packed: codec.bytes.slice(packedAt, packedAt + packedBytes),
      packedAt,
      byNative: peers.native.compress(raw),
      byWasm: peers.wasm.compress(raw),
    });
    at = packedAt + packedBytes + SLOP_BYTES;
  }
  return blocks;
}

/** Makes a candidate that does `work` on the round's share of the blocks. */
function overBlocks(blocks: readonly Block[], perRound: number, work: (block: Block) => void) {
  return (round: number): void => {
    for (let index = 0; index < perRound; index++) {
      work(blocks[(round * perRound + index) % blocks.length]);
    }
  };
}

function measureCell(
  kind: CorpusKind,
  blockBytes: number,
  corpus: Uint8Array,
  peers: Peers,
  sizes: Sizes,
): Cell {
  const codec = createBenchCodec(corpus.length, blockBytes);
  const blocks = layOut(codec, corpus, blockBytes, peers);
  const outAt = codec.arenaEnd - compressBound(blockBytes) - SLOP_BYTES;
  const inAt = outAt - blockBytes - SLOP_BYTES - 64;
  const reused = new Uint8Array(compressBound(blockBytes));
  const perRound = Math.max(1, Math.floor(sizes.roundBytes / blockBytes));
  const each = (work: (block: Block) => void): Candidate => overBlocks(blocks, perRound, work);
  const unpack = (packedAt: number, packed: Uint8Array): void => {
    const written = codec.decompress(packedAt, packed.length, outAt, blockBytes);
    if (written !== blockBytes) throw new Error(`Cannot decompress a block of ${kind}: ${written}`);
  };
  const compress = {
    own: each((block) => void codec.compress(block.rawAt, blockBytes, outAt)),
    copied: each((block) => {
      codec.bytes.set(block.raw, inAt);
      const written = codec.compress(inAt, blockBytes, outAt);
      reused.set(codec.bytes.subarray(outAt, outAt + written));
    }),
    native: each((block) => void peers.native.compress(block.raw)),
    wasm: each((block) => void peers.wasm.compress(block.raw)),
  };
  const decompress = {
    own: each((block) => unpack(block.packedAt, block.packed)),
    copied: each((block) => {
      codec.bytes.set(block.packed, inAt);
      unpack(inAt, block.packed);
      reused.set(codec.bytes.subarray(outAt, outAt + blockBytes));
    }),
    native: each((block) => void peers.native.decompress(block.byNative)),
    wasm: each((block) => void peers.wasm.decompress(block.byWasm)),
  };
  const warmUpRounds = Math.min(sizes.rounds, Math.ceil(blocks.length / perRound));
  for (const candidates of [compress, decompress]) interleavedRounds(candidates, warmUpRounds);
  const packedBytes = blocks.reduce((sum, block) => sum + block.packed.length, 0);
  const nativeBytes = blocks.reduce((sum, block) => sum + block.byNative.length, 0) -
    blocks.length * PEER_PREFIX_BYTES;
  return {
    kind,
    blockBytes,
    sizeRatio: corpus.length / packedBytes,
    sizeToNative: packedBytes / nativeBytes,
    compress: interleavedRounds(compress, sizes.rounds),
    decompress: interleavedRounds(decompress, sizes.rounds),
  };
}

function rowsOf(cell: Cell, peers: Peers, bytesPerRound: number): BenchRow[] {
  return (["compress", "decompress"] as const).flatMap((action) =>
    (["own", "copied", "native", "wasm"] as const).map((candidate) => {
      const times = cell[action];
      const name = { own: "own", copied: "own, copied", native: "", wasm: "" }[candidate];
      return {
        input: `${cell.kind} ${cell.blockBytes / KIB} KiB`,
        action,
        codec: name || peers[candidate as "native" | "wasm"].name,
        "MB/s": Math.round(bytesPerRound / 1000 / median(times[candidate])),
        "x native": speedRatio(times[candidate], times.native),
        "x wasm": speedRatio(times[candidate], times.wasm),
        ...(candidate === "own" && action === "compress"
          ? { ratio: cell.sizeRatio, "size to native": cell.sizeToNative }
          : {}),
      };
    })
  );
}

function barsOf(cells: readonly Cell[]): BenchBar[] {
  const compressible = cells.filter((cell) => cell.kind !== "random");
  const speed = (action: "compress" | "decompress", peer: "native" | "wasm"): number =>
    geometricMean(compressible.map((cell) => speedRatio(cell[action].own, cell[action][peer])));
  const sizes = compressible.map((cell) => cell.sizeToNative);
  const randomCells = cells.filter((cell) => cell.kind === "random");
  const expanded = Math.min(...randomCells.map((cell) => 1 / cell.sizeRatio));
  return [
    barAtLeast("compress x lz4-napi", 1.0, speed("compress", "native")),
    barAtLeast("compress x lz4-wasm", 1.35, speed("compress", "wasm")),
    barAtLeast("decompress x lz4-napi", 1.3, speed("decompress", "native")),
    barAtLeast("decompress x lz4-wasm", 2.1, speed("decompress", "wasm")),
    barAtMost("size to lz4-napi, mean", 1.01, geometricMean(sizes)),
    barAtMost("size to lz4-napi, worst cell", 1.04, Math.max(...sizes)),
    barAtLeast("random data does not shrink, so it is stored plainly", 1.0, expanded),
  ];
}

/** Runs the bench on this runtime; a full run takes less than half a minute. */
export async function run(options: BenchOptions): Promise<BenchResult> {
  const sizes = options.smoke ? SMOKE : FULL;
  const peers = { native: NATIVE_PEER, wasm: await loadWasmPeer() };
  const cells: Cell[] = [];
  for (const kind of CORPUS_KINDS) {
    const corpus = makeCorpus(kind, sizes.corpusBytes);
    for (const blockBytes of sizes.blockBytes) {
      cells.push(measureCell(kind, blockBytes, corpus, peers, sizes));
    }
  }
  const rows = cells.flatMap((cell) => {
    const perRound = Math.max(1, Math.floor(sizes.roundBytes / cell.blockBytes));
    return rowsOf(cell, peers, perRound * cell.blockBytes);
  });
  return { title: "Codec: LZ4 blocks", rows, bars: barsOf(cells) };
}
