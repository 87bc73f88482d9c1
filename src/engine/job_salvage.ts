/**
 * Salvages a job whose catalog or changes are lost: plans, and carries out a plan that was accepted.
 * Owns: that nothing is done but what was accepted, by an owner that every older one is fenced by; that nothing is
 * deleted. Does not own: what the plan says (`checkpoint/salvage_plan.ts`).
 * @module
 */
import { Catalog } from "./checkpoint/catalog.ts";
import type { JobPlace } from "./checkpoint/catalog_read.ts";
import { Checkpointer } from "./checkpoint/checkpointer.ts";
import { Lease, snapshotExpired } from "./checkpoint/lease.ts";
import { OwnerKey } from "./checkpoint/owner_key.ts";
import { withReserve } from "./checkpoint/reserve.ts";
import { DEFAULT_RETENTION } from "./checkpoint/retention.ts";
import { findCatalog } from "./checkpoint/salvage_evidence.ts";
import { planSalvage, type SalvagePlan } from "./checkpoint/salvage_plan.ts";
import { TidemarkError } from "./errors.ts";
import { beginUploads, copyUnproven } from "./job_uploads.ts";
import type { Ports } from "./port/ports.ts";
import type { StoreSettings } from "./settings.ts";
import type { SalvageOptions, SalvageReport } from "./types.ts";

/** How often a plan is made anew because the catalog changed while it was made. */
const PLANS_MAX = 3;
/** More epochs than this between the owner keys and whatever names a higher one is no crash's doing. */
const EPOCH_GAP_MAX = 10_000;

/** What salvaging a job needs. */
export interface JobSalvageOptions extends SalvageOptions {
  readonly place: JobPlace;
  readonly settings: StoreSettings;
  readonly ports: Ports;
}

/** Answers the plan, or carries out the one that was accepted. */
export async function salvageJob(options: JobSalvageOptions): Promise<SalvageReport> {
  const { place, ports, accept, dryRun = false, takeOver = false, signal } = options;
  const plan = await planBeside(place, ports, signal);
  if (accept === undefined || dryRun || !plan.report.isNeeded) return plan.report;
  checkAccepted(plan, accept);
  const lock = await withReserve(
    place.reserve,
    () => place.backend.lock(place.keys.lock, { takeOver }),
  );
  try {
    return await carryOut(options, plan, accept);
  } finally {
    await lock?.close();
  }
}

/** Makes a plan that holds beside an owner that goes on. */
async function planBeside(
  place: JobPlace,
  ports: Ports,
  signal: AbortSignal | undefined,
): Promise<SalvagePlan> {
  for (let attempt = 1;; attempt++) {
    const before = await findCatalog(place);
    // Where the catalog can be read, whoever owns the job may be collecting.
    const lease = before.state !== "whole"
      ? undefined
      : await Lease.take(place, ports, { checkpoint: before.base!.head, isTail: true });
    try {
      const plan = await planSalvage(place, signal);
      const { highest } = await findCatalog(place);
      const isSame = plan.evidence.highest === before.highest && highest === before.highest;
      if (isSame || !plan.report.isNeeded) return plan;
      if (attempt === PLANS_MAX) throw snapshotExpired(place.keys.job);
    } finally {
      await lease?.close();
    }
  }
}

function checkAccepted({ report }: SalvagePlan, accept: string): void {
  if (report.id === accept) return;
  throw new TidemarkError(
    "plan-changed",
    `Cannot salvage job ${report.job} by plan ${accept}: what is there now makes it plan ${report.id}; look at that, and accept it`,
    { details: { job: report.job, accepted: accept, found: report.id } },
  );
}

async function carryOut(
  options: JobSalvageOptions,
  { evidence: { owners, epochMax } }: SalvagePlan,
  accept: string,
): Promise<SalvageReport> {
  const { place, ports, signal } = options;
  const gap = epochMax - [...owners].reduce((max, epoch) => Math.max(max, epoch), 0);
  if (owners.size > 0 && gap > EPOCH_GAP_MAX) throw epochTooFar(place, epochMax);
  signal?.throwIfAborted();
  const owner = await OwnerKey.takeAbove(epochMax, owners, { ...place, ports });
  try {
    // What an older owner acknowledged is on disk by now, and it acknowledges nothing more.
    const plan = await planSalvage(place, signal);
    checkAccepted(plan, accept);
    return await publish(options, plan, owner);
  } finally {
    await owner.close();
  }
}

/** Copies what need not be on disk, and publishes. */
async function publish(
  { place, settings, ports }: JobSalvageOptions,
  plan: SalvagePlan,
  owner: OwnerKey,
): Promise<SalvageReport> {
  const { evidence: { base, highest }, tail, entries, head, report } = plan;
  const { epoch } = owner;
  const run = runOf(plan, epoch);
  const uploads = beginUploads({ place, epoch, run, settings, ports });
  try {
    const { copies, release } = await copyUnproven(place, uploads, tail);
    owner.check();
    const catalog = new Catalog(place, ports, base, { above: highest, keepsAll: true });
    catalog.publishAs(owner);
    const content = {
      epoch,
      run,
      fingerprint: plan.fingerprint,
      head: head?.manifest.uuid ?? null,
      retention: base?.retention ?? DEFAULT_RETENTION,
      checkpoints: [...entries],
    };
    const files = [...tail.files, ...copies];
    const checkpointer = new Checkpointer(place, ports, catalog);
    const { number } = await checkpointer.publishSalvaged(content, tail, files);
    release();
    ports.logger.log("warning", "Salvaged a job", { job: report.job, lost: report.lost, run });
    return { ...report, isDone: true, published: number, run };
  } finally {
    await uploads.log.close();
  }
}

/**
 * The run from now on. Where positions may have changed it is above every run that may ever have begun: each took an
 * epoch of its own.
 */
function runOf({ evidence, newest, head, isTailWhole }: SalvagePlan, epoch: number): number {
  const { state, base, manifests, files } = evidence;
  const isSame = state === "whole" && isTailWhole &&
    head?.manifest.uuid === (base!.head ?? undefined);
  if (isSame) return base!.run;
  let last = { epoch: base?.epoch ?? 0, run: base?.run ?? 0 };
  const told = [
    ...[...manifests.values()].map(({ manifest }) => manifest),
    ...files.map(({ header }) => header),
  ];
  for (const one of told) if (one.epoch > last.epoch) last = one;
  return Math.max(newest.run + 1, last.run + epoch - last.epoch);
}

function epochTooFar({ keys }: JobPlace, epoch: number): TidemarkError {
  return new TidemarkError(
    "corrupt",
    `Cannot salvage job ${keys.job}: an object names epoch ${epoch}, more than ${EPOCH_GAP_MAX} above the owner keys; move what does not belong to the job out of its folder`,
    { details: { job: keys.job, epoch } },
  );
}
