/** A server as a process of its own: says where it listens, and what it logs. */
import { serveHttp } from "../../src/runtime/http_server.ts";

const server = await serveHttp(() => Promise.resolve(new Response("ok")), {
  port: 0,
  logger: { log: (level, message) => console.log(`${level}: ${message}`) },
});
console.log(`port ${server.port}`);
