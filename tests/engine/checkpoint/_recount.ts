/** Counts a job's room once more, from keys and bytes alone. @module */
import type { JobUsage } from "../../../src/engine/types.ts";
import { bodyOf } from "../../simulation/leaks.ts";

interface Manifest {
  readonly files: readonly { readonly key: string }[];
  readonly states: readonly { readonly key: string }[];
}

interface Generation {
  readonly tailFrom: { readonly epoch: number; readonly number: number };
}

const CHANGE_FILE = /\/([0-9]{20})-([0-9]{20})-[0-9a-f-]{36}\.cborseq\.lz4$/;

/** What {@link JobUsage} must say of a job whose tail holds no change yet. */
export function recount(
  objects: ReadonlyMap<string, Uint8Array>,
  job: string,
  checkpoints: readonly { readonly uuid: string; readonly isHead: boolean }[],
): JobUsage {
  const prefix = `jobs/${job}/`;
  const own = [...objects].filter(([key]) => key.startsWith(prefix));
  const kinds: Record<string, { bytes: number; objects: number }> = {};
  for (const [key, { length }] of own) {
    const kind = kinds[key.slice(prefix.length).split("/")[0]] ??= { bytes: 0, objects: 0 };
    kind.bytes += length;
    kind.objects += 1;
  }
  const manifests = checkpoints.map(({ uuid }) => {
    const key = `${prefix}checkpoints/${uuid}.json`;
    const { files, states } = bodyOf<Manifest>(objects, key);
    return { key, files: keysOf(files), states: keysOf(states) };
  });
  const needs = manifests.map(({ key, files, states }) => [key, ...files, ...states]);
  const generations = own.map(([key]) => key).filter((key) => key.includes("/catalog/")).sort();
  const { tailFrom } = bodyOf<Generation>(objects, generations.at(-1)!);
  /** The tail goes on from the files of `head`, in the file that was open then. */
  const isOfTail = (key: string, isOfHead: boolean): boolean => {
    const file = CHANGE_FILE.exec(key);
    if (file === null || isOfHead) return file !== null;
    const [epoch, number] = [Number(file[1]), Number(file[2])];
    return epoch > tailFrom.epoch || (epoch === tailFrom.epoch && number >= tailFrom.number);
  };
  const sizeOf = (keys: readonly string[]): number =>
    keys.reduce((sum, key) => sum + objects.get(key)!.length, 0);
  return {
    bytes: own.reduce((sum, [, { length }]) => sum + length, 0),
    objects: own.length,
    kinds,
    checkpoints: checkpoints.map(({ uuid, isHead }, at) => {
      const others = new Set(needs.filter((_, other) => other !== at).flat());
      const alone = needs[at].filter((key) => !others.has(key) && !isOfTail(key, isHead));
      const [referencedBytes, exclusiveBytes] = [sizeOf(needs[at]), sizeOf(alone)];
      return {
        uuid,
        stateBytes: sizeOf(manifests[at].states),
        referencedBytes,
        exclusiveBytes,
        sharedBytes: referencedBytes - exclusiveBytes,
      };
    }),
  };
}

function keysOf(objects: readonly { readonly key: string }[]): string[] {
  return objects.map(({ key }) => key);
}
