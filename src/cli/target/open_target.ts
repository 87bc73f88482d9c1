/**
 * Finds the job that the options name, here or at a sidecar.
 * @module
 */
import {
  openLocalBench,
  openLocalStore,
  openLocalStoreTarget,
  openLocalTarget,
  openOtherStore,
} from "./_local_target.ts";
import {
  openRemoteBench,
  openRemoteStore,
  openRemoteStoreTarget,
  openRemoteTarget,
} from "./_remote_target.ts";
import { optionsOf } from "../settings/settings.ts";
import { TAKE_OVER_OPTION } from "./store.ts";
import type { BenchTarget, OpenFor, ReadStore, StoreTarget, Target } from "./target.ts";
import type { CommandContext, CommandOption } from "../command.ts";

/** The option that names a job. */
export const JOB_OPTION: CommandOption = {
  type: "string",
  value: "JOB",
  about: "name of the job",
  isRequired: true,
};

/** The option that names a writer. */
export const WRITER_OPTION: CommandOption = {
  type: "string",
  value: "WRITER",
  about: "name of the writer",
  isRequired: true,
};

/** The option that goes on to older checkpoints. */
export const FALLBACK_OPTION: CommandOption = {
  type: "boolean",
  about: "verify first; go to an older checkpoint when it is damaged",
};

/** Options that say which store. */
export const PLACE_OPTIONS: Readonly<Record<string, CommandOption>> = {
  ...optionsOf(["store", "url"]),
};

/** Options that say which job, and where it is. */
export const TARGET_OPTIONS: Readonly<Record<string, CommandOption>> = {
  job: JOB_OPTION,
  ...PLACE_OPTIONS,
};

/** The same for a command that owns the job while it runs. */
export const OWN_OPTIONS: Readonly<Record<string, CommandOption>> = {
  ...TARGET_OPTIONS,
  "take-over": TAKE_OVER_OPTION,
};

/** Opens the job that the options name, to be written to. */
export async function openTarget(context: CommandContext, openFor: OpenFor): Promise<Target> {
  const job = context.options.required("job");
  const url = context.settings.sidecar;
  if (url === undefined) return await openLocalTarget(context, job, openFor);
  return await openRemoteTarget(context, url, job, openFor);
}

/** Opens the store that the options name, to be read beside its owner. */
export async function openReadStore(context: CommandContext): Promise<ReadStore> {
  const url = context.settings.sidecar;
  if (url === undefined) return await openLocalStore(context);
  return openRemoteStore(context, url);
}

/** Opens the store that the options name, to work on whole jobs of it, or only to look. */
export async function openStoreTarget(
  context: CommandContext,
  mode: "read" | "own",
  { create = false }: { readonly create?: boolean } = {},
): Promise<StoreTarget> {
  const url = context.settings.sidecar;
  if (url === undefined) return await openLocalStoreTarget(context, mode, create);
  return openRemoteStoreTarget(context, url);
}

/** Opens another store besides: in a folder, made where it is missing, or of a sidecar. */
export async function openOther(
  context: CommandContext,
  { folder, url }: { readonly folder?: string; readonly url?: string },
): Promise<StoreTarget> {
  if (url !== undefined) return openRemoteStoreTarget(context, url);
  return await openOtherStore(context, folder ?? "");
}

/** Makes a job to be measured, in a folder or at a sidecar. */
export async function openBench(context: CommandContext, job: string): Promise<BenchTarget> {
  const url = context.settings.sidecar;
  if (url === undefined) return await openLocalBench(context, job);
  return await openRemoteBench(context, url, job);
}
