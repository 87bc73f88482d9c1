/**
 * Says of every object of a store what needs it, from the bytes alone: a check of collection that shares no code with
 * it.
 * @module
 */
const JOB = /^jobs\/[^/]+\//;
const GENERATION = /^catalog\/([0-9]{20})\.json$/;
const OWNER = /^owners\/[0-9]{20}\.json$/;
const CHANGE_FILE = /^changelog\/[^/]+\/([0-9]{20})-([0-9]{20})-[0-9a-f-]{36}\.cborseq\.lz4$/;
const GENERATIONS_MAX = 16;

interface Named {
  readonly key: string;
}

interface Generation {
  readonly checkpoints: readonly { readonly uuid: string; readonly manifest: Named }[];
  readonly adopted: Named | null;
  readonly tailFrom: { readonly epoch: number; readonly number: number };
}

interface WithFiles {
  readonly files: readonly Named[];
  /** Only a manifest has some. */
  readonly states?: readonly Named[];
}

type Objects = ReadonlyMap<string, Uint8Array>;

/** The second line of a small fact. */
export function bodyOf<Body>(objects: Objects, key: string): Body {
  const bytes = objects.get(key);
  if (bytes === undefined) throw new Error(`${key} is named, and not there`);
  return JSON.parse(new TextDecoder().decode(bytes).split("\n")[1]) as Body;
}

/** Keys of a store's objects that nothing needs; there is one job. @throws {Error} Something needed is missing. */
export function leaksIn(objects: Objects): string[] {
  const keys = [...objects.keys()];
  const catalog = keys.filter((key) => GENERATION.test(key.replace(JOB, ""))).sort();
  const newest = bodyOf<Generation>(objects, catalog.at(-1)!);
  const needed = new Set<string>(catalog.slice(-GENERATIONS_MAX));
  for (const { manifest } of newest.checkpoints) {
    needed.add(manifest.key);
    const { files, states = [] } = bodyOf<WithFiles>(objects, manifest.key);
    for (const { key } of [...files, ...states]) needed.add(key);
  }
  if (newest.adopted !== null) {
    needed.add(newest.adopted.key);
    for (const { key } of bodyOf<WithFiles>(objects, newest.adopted.key).files) needed.add(key);
  }
  for (const key of needed) if (!objects.has(key)) throw new Error(`${key} is needed, and gone`);
  return keys.filter((key) => !needed.has(key) && !isKeptAnyway(key, newest));
}

function isKeptAnyway(key: string, { tailFrom }: Generation): boolean {
  if (key === "TIDEMARK" || key === "RESERVE") return true;
  const name = key.replace(JOB, "");
  if (name === "LOCK" || OWNER.test(name)) return true;
  const file = CHANGE_FILE.exec(name);
  if (file === null) return false;
  const [epoch, number] = [Number(file[1]), Number(file[2])];
  return epoch > tailFrom.epoch || (epoch === tailFrom.epoch && number >= tailFrom.number);
}
