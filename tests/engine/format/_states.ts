/** State objects for tests, and what reads them back. */
import {
  type EncodedState,
  StateEncoder,
  type StateEncoderOptions,
} from "../../../src/engine/format/state_encoder.ts";
import type { StateHeader, StateObject } from "../../../src/engine/format/state_object.ts";
import type { ByteSource } from "../../../src/engine/format/byte_source.ts";
import { readStateContent, readStateEnds } from "../../../src/engine/format/state_reader.ts";
import { join, OPTIONS, uuid } from "./_files.ts";

export const STATE_HEADER: StateHeader = {
  store: uuid(1),
  job: "word-count",
  name: "counts-0",
  epoch: 5_000_000_000,
  run: 2,
  uuid: uuid(2),
  createdAtMs: 1_700_000_000_000,
};

/** An encoded state object, and what the encoder says of it. */
export interface SmallState extends EncodedState {
  readonly bytes: Uint8Array;
  readonly pieces: number[];
}

/** Encodes a state from these parts, looking at each piece as late as that is allowed. */
export function encodeState(
  parts: Iterable<Uint8Array>,
  options: StateEncoderOptions = OPTIONS,
  header: StateHeader = STATE_HEADER,
): SmallState {
  const encoder = new StateEncoder(header, options);
  const pieces: Uint8Array[] = [];
  const drain = <Answer>(steps: Generator<Uint8Array, Answer>): Answer => {
    for (let step = steps.next();; step = steps.next()) {
      if (step.done) return step.value;
      pieces.push(step.value.slice());
    }
  };
  try {
    drain(encoder.begin());
    for (const part of parts) drain(encoder.add(part));
    const encoded = drain(encoder.end());
    return { ...encoded, bytes: join(pieces), pieces: pieces.map(({ length }) => length) };
  } finally {
    encoder.close();
  }
}

/** Reads all of a state object. */
export async function readState(
  source: ByteSource,
): Promise<StateObject & { content: Uint8Array }> {
  const ends = await readStateEnds(source);
  const pieces: Uint8Array[] = [];
  for await (const piece of readStateContent(source, ends.index)) pieces.push(piece);
  return { ...ends, content: join(pieces) };
}
