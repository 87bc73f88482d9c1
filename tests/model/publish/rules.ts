/**
 * The rules of a publish on a file system as switches.
 * @module
 */
import type { RuleTable } from "../rules.ts";

export interface PublishRules {
  readonly finalName: "linked" | "renamed";
  readonly temporaryName: "unique" | "shared";
  readonly bodySync: "before the link" | "left out";
  readonly directorySync: "before it is relied on" | "left out";
  readonly failedDirectorySync: "next number" | "syncs again";
  readonly directoryHandle: "before the link" | "for the sync";
  readonly manifestSync: "before the publish" | "left out";
  readonly manifestDirectorySync: "before the publish" | "left out";
  readonly parentSync: "up to the topmost created" | "left out";
  readonly newestIs: "highest number" | "first free number";
}

export const PUBLISH_RULES: RuleTable<PublishRules> = {
  finalName: {
    text: "A generation gets its final name by `link`, which fails if the name exists",
    default: "linked",
    literal: "renamed",
  },
  temporaryName: {
    text: "A temporary file has a name of its own, and one that exists is never written to",
    default: "unique",
    literal: "shared",
  },
  bodySync: {
    text: "The body is synced before the link",
    default: "before the link",
    literal: "left out",
  },
  directorySync: {
    text: "A generation is relied on only once its directory is synced",
    default: "before it is relied on",
    literal: "left out",
  },
  failedDirectorySync: {
    text: "After a failed directory sync the same content goes under the next number",
    default: "next number",
    literal: "syncs again",
  },
  directoryHandle: {
    text:
      "The directory is opened before the link and synced through that handle, which tells of " +
      "every failure since, also of another process's sync",
    default: "before the link",
    literal: "for the sync",
  },
  manifestSync: {
    text: "A manifest is synced before the catalog names it",
    default: "before the publish",
    literal: "left out",
  },
  manifestDirectorySync: {
    text: "The directory of the manifest is synced before the catalog names it",
    default: "before the publish",
    literal: "left out",
  },
  parentSync: {
    text: "Every directory that was created is synced into its parent",
    default: "up to the topmost created",
    literal: "left out",
  },
  newestIs: {
    text: "The newest generation is the highest number, also above a hole",
    default: "highest number",
    literal: "first free number",
  },
};
