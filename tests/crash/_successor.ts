/**
 * A program: a sidecar that takes a job from its owner, whoever that is, before it listens. It is called with the
 * folder of the store and the name of the job.
 * @module
 */
import process from "node:process";
import { openStore } from "../../mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { serveHttp } from "../../src/runtime/http_server.ts";

const SHUTDOWN_MS_MAX = 5_000;

const [folder, id] = process.argv.slice(2);
const store = await openStore(folder);
await store.job(id, { takeOver: true });
const app = createApp(store);
const server = await serveHttp((request) => app.fetch(request), { port: 0 });
process.once("SIGTERM", async () => {
  await server.close(SHUTDOWN_MS_MAX);
  await store.close();
});
console.log(`Listening on ${server.url}`);
