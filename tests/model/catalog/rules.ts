/**
 * The rules of the catalog, of owners, resume, checkpoints, deletion and readers as switches.
 * @module
 */
import type { RuleTable } from "../rules.ts";

export interface CatalogRules {
  readonly generationIsCreated: "only if absent" | "in any case";
  readonly existsOnPublish: "read back" | "lost";
  readonly absentOnReadBack: "unknown" | "failed";
  readonly unknownPublish: "waits" | "next number";
  readonly newestGeneration: "highest" | "highest readable";
  readonly missingCatalog: "refuse" | "new job";
  readonly ownerKeyIsCreated: "only if absent" | "in any case";
  readonly recovery: "after the fence" | "before the claim";
  readonly service: "after recovered" | "after the scan";
  readonly recoveredTailFrom: "own epoch" | "as it was";
  readonly acknowledgeLooksUp: "next owner key" | "next generation";
  readonly acknowledgeLooksUpWhen: "after durable" | "before the write";
  readonly ownOwnerKey: "same identity" | "not looked up";
  readonly acknowledgeOrder: "in order" | "any order";
  readonly fencedOwner: "does nothing" | "cleans up";
  readonly recoveryTakes: "change sets" | "unreferenced files";
  readonly tailGoesOnFrom: "head" | "newest checkpoint";
  readonly resumeEpoch: "new" | "the same";
  readonly resumeAcknowledges: "stops" | "goes on";
  readonly resumeTailFrom: "new epoch" | "as it was";
  readonly resumeAdopted: "nothing" | "as it was";
  readonly checkpointPosition: "durable" | "appended";
  readonly manifestIsWritten: "before the publish" | "with the publish";
  readonly collectionKeeps: "head" | "newest by age";
  readonly deletionIsPublished: "first, as doomed" | "not at all";
  readonly deletionWaits: "until confirmed" | "until sent";
  readonly sweepTakesFirst: "listing" | "keep set";
  readonly deleterFences: "takes an epoch" | "deletes as it is";
  readonly deletedIsPublished: "before anything goes" | "after it went";
  readonly deletedTailFrom: "own epoch" | "as it was";
  readonly deletionLeaves: "a generation and the owner keys" | "nothing";
  readonly readerAfterScan: "reads again" | "ends";
  readonly generationVanished: "lists again" | "catalog lost";
}

export const CATALOG_RULES: RuleTable<CatalogRules> = {
  generationIsCreated: {
    text: "A generation is created only if its number is absent",
    default: "only if absent",
    literal: "in any case",
  },
  existsOnPublish: {
    text: "An owner that is told `exists` reads back, and knows its own generation by the write id",
    default: "read back",
    literal: "lost",
  },
  absentOnReadBack: {
    text: "A generation that is absent on read-back may still land: its outcome is unknown",
    default: "unknown",
    literal: "failed",
  },
  unknownPublish: {
    text: "While an outcome is unknown the owner repeats that body and publishes nothing else",
    default: "waits",
    literal: "next number",
  },
  newestGeneration: {
    text: "The newest generation is the highest number, readable or not",
    default: "highest",
    literal: "highest readable",
  },
  missingCatalog: {
    text: "A job with files but without any generation refuses to open",
    default: "refuse",
    literal: "new job",
  },
  ownerKeyIsCreated: {
    text: "An epoch belongs to whoever creates its owner key, only if absent",
    default: "only if absent",
    literal: "in any case",
  },
  recovery: {
    text: "A new owner recovers only after its fence is published",
    default: "after the fence",
    literal: "before the claim",
  },
  service: {
    text: "A new owner serves nothing until the generation that says `recovered` is published",
    default: "after recovered",
    literal: "after the scan",
  },
  recoveredTailFrom: {
    text: "The `recovered` generation sets `tailFrom` to its own epoch and names what it adopted",
    default: "own epoch",
    literal: "as it was",
  },
  acknowledgeLooksUp: {
    text:
      "Before an acknowledgement the owner looks for the next owner key, which is never deleted",
    default: "next owner key",
    literal: "next generation",
  },
  acknowledgeLooksUpWhen: {
    text: "It looks after the batch is durable",
    default: "after durable",
    literal: "before the write",
  },
  ownOwnerKey: {
    text: "It also looks whether its own owner key is still the one that it created",
    default: "same identity",
    literal: "not looked up",
  },
  acknowledgeOrder: {
    text: "A change is acknowledged only when every earlier change of its writer is durable",
    default: "in order",
    literal: "any order",
  },
  fencedOwner: {
    text: "A fenced owner writes and deletes nothing any more",
    default: "does nothing",
    literal: "cleans up",
  },
  recoveryTakes: {
    text: "Recovery looks at every change set, whether or not a checkpoint references its file",
    default: "change sets",
    literal: "unreferenced files",
  },
  tailGoesOnFrom: {
    text: "The tail goes on from `head`, not from the newest checkpoint",
    default: "head",
    literal: "newest checkpoint",
  },
  resumeEpoch: {
    text: "A resume takes a new epoch",
    default: "new",
    literal: "the same",
  },
  resumeAcknowledges: {
    text: "A resume stops acknowledging before it publishes",
    default: "stops",
    literal: "goes on",
  },
  resumeTailFrom: {
    text: "A resume sets `tailFrom` to the new epoch",
    default: "new epoch",
    literal: "as it was",
  },
  resumeAdopted: {
    text: "A resume at a checkpoint empties `adopted`",
    default: "nothing",
    literal: "as it was",
  },
  checkpointPosition: {
    text: "A checkpoint is published only when everything below its position is durable",
    default: "durable",
    literal: "appended",
  },
  manifestIsWritten: {
    text: "The manifest is written before the catalog names it",
    default: "before the publish",
    literal: "with the publish",
  },
  collectionKeeps: {
    text: "`head` is never collected",
    default: "head",
    literal: "newest by age",
  },
  deletionIsPublished: {
    text: "What goes is published as doomed first, and recovery never adopts it",
    default: "first, as doomed",
    literal: "not at all",
  },
  deletionWaits: {
    text: "Deletes begin once the generation that no longer names the files is confirmed",
    default: "until confirmed",
    literal: "until sent",
  },
  sweepTakesFirst: {
    text: "The deleter lists first and takes the keep set after",
    default: "listing",
    literal: "keep set",
  },
  deleterFences: {
    text: "Who deletes the job takes an epoch first, as an owner does",
    default: "takes an epoch",
    literal: "deletes as it is",
  },
  deletedIsPublished: {
    text: "That the job is deleted is published before anything of it goes",
    default: "before anything goes",
    literal: "after it went",
  },
  deletedTailFrom: {
    text: "The generation that says `deleted` sets `tailFrom` to its own epoch, and so does the " +
      "first of a new job",
    default: "own epoch",
    literal: "as it was",
  },
  deletionLeaves: {
    text: "That generation and the owner keys stay, and a new job counts on from there",
    default: "a generation and the owner keys",
    literal: "nothing",
  },
  readerAfterScan: {
    text: "A reader of the tail reads the generation again after its scan, and starts over if " +
      "`head` or `tailFrom` changed",
    default: "reads again",
    literal: "ends",
  },
  generationVanished: {
    text: "A reader whose generation vanished between list and get lists again",
    default: "lists again",
    literal: "catalog lost",
  },
};
