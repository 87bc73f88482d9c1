import { TidemarkError } from "../errors.ts";
import { scanChanges } from "../format/change_scan.ts";
import { META_KEY_GROUP } from "../limits.ts";
import type { EncodedChanges, KeyGroupRange } from "../types.ts";

interface Ranged {
  readonly id: string;
  readonly keyGroups: KeyGroupRange;
}

/** Checks that a writer takes changes of this key group. @throws {RangeError} */
export function checkKeyGroup(writer: Ranged, keyGroup: number): void {
  const [from, to] = writer.keyGroups;
  const isTaken = keyGroup === META_KEY_GROUP ||
    (Number.isInteger(keyGroup) && keyGroup >= from && keyGroup <= to);
  if (isTaken) return;
  throw new RangeError(
    `Cannot append to writer ${writer.id}: key group ${keyGroup} is not in ${from} to ${to}, nor -1 for metadata`,
  );
}

/** Checks that a writer takes encoded changes. @throws {RangeError} */
export function checkEncodedKeyGroups(writer: Ranged, changes: EncodedChanges): void {
  const [from] = writer.keyGroups;
  checkKeyGroup(writer, changes.keyGroupMax);
  if (changes.keyGroupMin !== META_KEY_GROUP) {
    checkKeyGroup(writer, changes.keyGroupMin);
  } else if (from > 0) {
    // Metadata hides the least key group of the others.
    const scan = scanChanges(changes.bytes);
    for (let i = 0; i < scan.count; i++) checkKeyGroup(writer, scan.keyGroup(i));
  }
}

/** Checks the size of a change. @throws {TidemarkError} `change-too-large` */
export function checkChangeSize(writer: Ranged, bytes: number, bytesMax: number): void {
  if (bytes <= bytesMax) return;
  throw new TidemarkError(
    "change-too-large",
    `Cannot append to writer ${writer.id}: the change has ${bytes} bytes of at most ${bytesMax}; split it`,
    { details: { writer: writer.id, bytes, bytesMax } },
  );
}

/** Checks the size of encoded changes, each. @throws {TidemarkError} `change-too-large` */
export function checkEncodedSizes(writer: Ranged, changes: EncodedChanges, bytesMax: number): void {
  // None is larger than all of them together.
  if (changes.bytes.length <= bytesMax) return;
  const scan = scanChanges(changes.bytes);
  for (let i = 0; i < scan.count; i++) {
    checkChangeSize(writer, scan.dataEnd(i) - scan.dataStart(i), bytesMax);
  }
}
