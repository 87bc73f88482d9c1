/**
 * One of what the bench of HTTP holds side by side, in a process of its own: `_http_child.ts store FOLDER`: a sidecar
 * as `tidemark serve` begins it; `_http_child.ts empty`: a Hono route that reads a body and nothing else, on the same
 * kind of server; `_http_child.ts codec`: what the engine has to do with the bytes, without disk and sockets.
 * @module
 */
import { Hono } from "hono";
import process from "node:process";
import { main } from "../../src/cli/cli.ts";
import { ChangeSetBuilder } from "../../src/engine/changelog/change_set_builder.ts";
import { AppendHistory } from "../../src/engine/changelog/append_history.ts";
import { ChangeFileEncoder } from "../../src/engine/format/change_file_encoder.ts";
import type { ChangeSet } from "../../src/engine/format/change_set.ts";
import { changesFromCborSequence } from "../../src/engine/format/change_input.ts";
import { DEFAULT_SETTINGS } from "../../src/engine/settings.ts";
import { createCliIo } from "../../src/runtime/cli_io.ts";
import { type HttpServer, serveHttp } from "../../src/runtime/http_server.ts";
import { type Body, makeBodies } from "./_http_bodies.ts";
import { answerRequests } from "./_http_talk.ts";
import { processPeakMib } from "./_peak_memory.ts";

/** What is asked of this process. */
export type ChildRequest =
  /** The port, once it listens. */
  | { readonly kind: "port" }
  /** {@link ChildUsage} up to now. */
  | { readonly kind: "usage" }
  /** Does for so many bodies what the engine does. */
  | CodecRequest;

/** Bodies for the codec alone. */
export interface CodecRequest {
  readonly kind: "encode";
  readonly bodyBytes: number;
  readonly corpusBytes: number;
  readonly bodies: number;
  /** Bodies that become durable together. */
  readonly batch: number;
}

/** What the process has used, all threads, in microseconds of CPU. */
export interface ChildUsage {
  readonly user: number;
  readonly system: number;
  readonly peakMib: number;
}

/** Ends when it is no longer asked, and the server then. */
async function serveStore(folder: string): Promise<number> {
  const io = createCliIo();
  let stop: () => void = () => {};
  const listening = new Promise<HttpServer>((resolve) => {
    io.serve = async (handler, options) => {
      const server = await serveHttp(handler, options);
      resolve(server);
      return server;
    };
  });
  io.onStopSignal = (listener) => {
    stop = () => listener("SIGTERM");
    return () => {};
  };
  io.writeOutput = () => Promise.resolve();
  io.writeError = () => {};
  const ended = main(["serve", "--store", folder, "--listen", "127.0.0.1:0"], io);
  await answerAll(listening);
  stop();
  return await ended;
}

async function serveEmpty(): Promise<number> {
  const app = new Hono();
  app.post("/v1/jobs/:job/writers/:writer/changes", async (context) => {
    await context.req.arrayBuffer();
    return context.body(null, 204);
  });
  const server = serveHttp(async (request) => await app.fetch(request), { port: 0 });
  await answerAll(server);
  return 0;
}

function answerAll(server?: Promise<HttpServer>): Promise<void> {
  return answerRequests(async (request: ChildRequest) => {
    switch (request.kind) {
      case "port":
        return (await server)?.port;
      case "usage":
        return { ...process.cpuUsage(), peakMib: processPeakMib() } satisfies ChildUsage;
      case "encode":
        return encode(request);
    }
  });
}

const HEADER = {
  store: "019ad2b4-0000-7000-8000-000000000001",
  uuid: "019ad2b4-0000-7000-8000-000000000002",
  job: "bench",
  log: "main",
  epoch: 1,
  run: 1,
  number: 1,
  createdAtMs: 0,
  predecessors: [],
};
const bodiesBySize = new Map<number, Body[]>();
let nextBody = 0;

function encode({ bodyBytes, corpusBytes, bodies, batch }: CodecRequest): void {
  const all = bodiesBySize.get(bodyBytes) ?? makeBodies(bodyBytes, corpusBytes);
  bodiesBySize.set(bodyBytes, all);
  const encoder = new ChangeFileEncoder(HEADER, DEFAULT_SETTINGS);
  encoder.begin();
  const history = new AppendHistory();
  let sets: ChangeSet[] = [];
  for (let sequenceNumber = 0; sequenceNumber < bodies; sequenceNumber++) {
    const changes = changesFromCborSequence(all[nextBody++ % all.length].bytes);
    history.add(sequenceNumber, changes);
    const builder = new ChangeSetBuilder(sequenceNumber);
    builder.appendEncoded(changes);
    sets.push(builder.build({ writer: "w0", keyGroups: [0, 127], epoch: 1, sequenceNumber }));
    if (sets.length < batch) continue;
    for (const _ of encoder.batch(sets));
    sets = [];
  }
  if (sets.length > 0) { for (const _ of encoder.batch(sets)); }
}

const [kind, folder] = process.argv.slice(2);
if (kind === "store") process.exit(await serveStore(folder));
if (kind === "empty") process.exit(await serveEmpty());
await answerAll();
process.exit(0);
