import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, lstat, readdir, readFile, writeFile } from "node:fs/promises";
import { request as requestTls } from "node:https";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import type { TidemarkError } from "../../src/engine/errors.ts";
import {
  type HttpServer,
  serveHttp,
  type ServeHttpOptions,
} from "../../src/runtime/http_server.ts";
import { unixFetch } from "../../src/runtime/unix_fetch.ts";
import { temporaryFolder } from "../runtime/temporary_folder.ts";

const LONG_MS = 60_000;
const SHORT_MS = 500;
const isBun = "Bun" in globalThis;
const noSockets = process.platform === "win32" ? "Windows has other sockets" : false;
const noOpenssl = openssl(["version"]) ? false : "openssl is missing: apt-get install openssl";

function openssl(args: readonly string[], cwd?: string): boolean {
  try {
    execFileSync("openssl", args, { cwd, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const text = `${request.method} ${pathname}${search} ${await request.text()}`;
  return new Response(text, { status: 201, headers: { "x-echo": "yes" } });
}

async function withServer(
  options: ServeHttpOptions,
  use: (server: HttpServer) => Promise<void>,
): Promise<void> {
  const server = await serveHttp(echo, { port: 0, ...options });
  try {
    await use(server);
  } finally {
    await server.close(0);
  }
}

function refused(code: string, reason: RegExp): (error: TidemarkError) => boolean {
  return (error) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, reason);
    return true;
  };
}

describe("a Unix socket", () => {
  test("is served to its user alone, and is gone at the end", { skip: noSockets }, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "tidemark.sock");
    await withServer({ path }, async (server) => {
      assert.deepEqual([server.url, server.port], [`unix:${path}`, undefined]);
      assert.equal((await lstat(path)).mode & 0o777, 0o600);
      assert.deepEqual(await readdir(folder.path), ["tidemark.sock"]);
      const fetch = unixFetch(path);
      const asked = (method: string, body?: string | ReadableStream<Uint8Array>) =>
        fetch(
          new Request("http://localhost/a?b=c", { method, body, duplex: "half" } as RequestInit),
        );
      const plain = await asked("GET");
      assert.deepEqual([plain.status, plain.headers.get("x-echo")], [201, "yes"]);
      assert.equal(await plain.text(), "GET /a?b=c ");
      assert.equal(await (await asked("POST", "hello")).text(), "POST /a?b=c hello");
      const streamed = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("pie"));
          controller.enqueue(new TextEncoder().encode("ces"));
          controller.close();
        },
      });
      assert.equal(await (await asked("PUT", streamed)).text(), "PUT /a?b=c pieces");
      assert.equal(await (await asked("HEAD")).text(), "");
      const abort = new AbortController();
      abort.abort();
      const init = { signal: abort.signal };
      await assert.rejects(fetch(new Request("http://localhost/", init)), { name: "AbortError" });
    });
    assert.deepEqual(await readdir(folder.path), []);
    await assert.rejects(unixFetch(path)(new Request("http://localhost/")));
  });

  test(
    "of a live process is left alone, that of a dead one is taken",
    { skip: noSockets },
    async () => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, "tidemark.sock");
      await withServer({ path }, async () => {
        await assert.rejects(
          serveHttp(echo, { path }),
          refused("listen-failed", /a live process listens there/),
        );
        assert.equal((await unixFetch(path)(new Request("http://localhost/"))).status, 201);
      });
      // Killed: its socket stays, and nobody listens.
      const script = `require("node:net").createServer().listen(${
        JSON.stringify(path)
      }, () => process.kill(process.pid, "SIGKILL"))`;
      try {
        execFileSync("node", ["-e", script], { stdio: "ignore" });
      } catch {
        // It was killed.
      }
      assert.equal((await lstat(path)).isSocket(), true);
      await withServer({ path }, async () => {
        assert.equal((await unixFetch(path)(new Request("http://localhost/"))).status, 201);
      });
    },
  );

  test(
    "takes no other's place: a file, a folder, a socket that came after",
    { skip: noSockets },
    async () => {
      await using folder = await temporaryFolder();
      const path = join(folder.path, "tidemark.sock");
      await writeFile(path, "precious");
      await assert.rejects(
        serveHttp(echo, { path }),
        refused("listen-failed", /something else than a socket/),
      );
      assert.equal(await readFile(path, "utf8"), "precious");
      await assert.rejects(
        serveHttp(echo, { path: folder.path }),
        refused("listen-failed", /something/),
      );
      await assert.rejects(
        serveHttp(echo, { path: join(folder.path, "none", "s") }),
        refused("listen-failed", /the folder .*none does not exist/),
      );
      await assert.rejects(
        serveHttp(echo, { path: join(folder.path, "x".repeat(110), "s") }),
        refused("listen-failed", /too long/),
      );
      const own = join(folder.path, "own.sock");
      const server = await serveHttp(echo, { path: own });
      const [{ promises }, other] = [await import("node:fs"), createServer()];
      await promises.rm(own);
      await new Promise<void>((resolve) => other.listen(own, resolve));
      await server.close(0);
      assert.equal((await lstat(own)).isSocket(), true);
      await new Promise((resolve) => other.close(resolve));
    },
  );
});

describe("TLS", () => {
  async function certificate(
    folder: string,
    name = "own",
  ): Promise<{ certFile: string; keyFile: string }> {
    const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const names = [
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1",
    ];
    const files = ["-keyout", keyFile, "-out", certFile, "-days", "2"];
    assert.ok(openssl(["req", "-x509", ...curve, ...names, ...files]));
    await chmod(keyFile, 0o600);
    return { certFile, keyFile };
  }

  /** Asks over TLS, trusting one certificate. */
  function ask(url: string, ca: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = requestTls(`${url}/hello`, { ca, agent: false }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => text += part);
        answer.on("end", () => resolve(text));
      });
      sent.once("error", reject);
      sent.end();
    });
  }

  test("is served with a certificate and its key", { skip: noOpenssl }, async () => {
    await using folder = await temporaryFolder();
    const tls = await certificate(folder.path);
    await withServer({ tls }, async ({ url }) => {
      assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
      assert.equal(await ask(url, await readFile(tls.certFile, "utf8")), "GET /hello ");
      await assert.rejects(
        fetch(url.replace("https", "http")).then((answer) => {
          if (answer.status !== 201) throw new Error("refused");
        }),
      );
    });
  });

  test("ends in time though a client never ends its handshake", { skip: noOpenssl }, async () => {
    await using folder = await temporaryFolder();
    const tls = await certificate(folder.path);
    const server = await serveHttp(echo, { port: 0, tls });
    const silent = connect(server.port!, "127.0.0.1");
    silent.on("error", () => undefined);
    await once(silent, "connect");
    // Accepted after it, so that both are known by now.
    await ask(server.url, await readFile(tls.certFile, "utf8"));
    // Deno waits for handshakes as long as it is let.
    await server.close("Deno" in globalThis ? SHORT_MS : LONG_MS);
    silent.destroy();
  });

  test("is refused with files that can't be used: each is named, with what is wrong", {
    skip: noOpenssl,
  }, async () => {
    await using folder = await temporaryFolder();
    const [own, other] = [await certificate(folder.path), await certificate(folder.path, "other")];
    const garbage = join(folder.path, "garbage");
    await writeFile(garbage, "no certificate", { mode: 0o600 });
    const open = join(folder.path, "open.key");
    await writeFile(open, await readFile(own.keyFile), { mode: 0o644 });
    await chmod(open, 0o644);
    const none = join(folder.path, "none");
    const cases: [Partial<typeof own>, string, RegExp][] = [
      [{ certFile: none }, "invalid-request", /TLS certificate .*none: there is no such file/],
      [{ keyFile: none }, "invalid-request", /TLS key .*none: there is no such file/],
      [{ certFile: garbage }, "invalid-request", /TLS certificate .*garbage: it is no PEM/],
      [{ keyFile: garbage }, "invalid-request", /TLS key .*garbage: it is no PEM/],
      [
        { keyFile: other.keyFile },
        "invalid-request",
        /other\.key: it does not belong to .*own\.crt/,
      ],
      ...(noSockets ? [] : [
        [{ keyFile: open }, "storage-denied", /TLS key .*open\.key: .*chmod 600/],
      ] as [Partial<typeof own>, string, RegExp][]),
    ];
    for (const [files, code, reason] of cases) {
      const options = { port: 0, tls: { ...own, ...files } };
      await assert.rejects(serveHttp(echo, options), refused(code, reason));
    }
    // A key that its group may read, as Debian's ssl-cert has it.
    await chmod(own.keyFile, 0o640);
    await withServer({ tls: own }, () => Promise.resolve());
  });
});

test(
  "a server that closes while it listens on a socket ends in time",
  { skip: noSockets },
  async () => {
    await using folder = await temporaryFolder();
    const server = await serveHttp(echo, { path: join(folder.path, "s") });
    await server.close(LONG_MS);
  },
);

test(
  "Bun is told to cut nothing off that is silent, on an address and on a socket",
  { skip: !isBun || noSockets },
  async () => {
    await using folder = await temporaryFolder();
    const { serve } = Bun;
    const told: (number | undefined)[] = [];
    Bun.serve = ((options: Parameters<typeof serve>[0]) => {
      told.push(options.idleTimeout);
      return serve(options);
    }) as typeof serve;
    try {
      await withServer({}, () => Promise.resolve());
      await withServer({ path: join(folder.path, "s") }, () => Promise.resolve());
    } finally {
      Bun.serve = serve;
    }
    assert.deepEqual(told, [0, 0]);
  },
);
