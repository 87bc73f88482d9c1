import assert from "node:assert/strict";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, test } from "node:test";
import { main } from "../../src/cli/cli.ts";
import type { FetchHandler, ServeHttpOptions } from "../../src/runtime/http_server.ts";
import { sha256 } from "../../src/runtime/secret_file.ts";
import { run, type RunOptions, TestIo, withFolder } from "./_run.ts";

const TOKEN = "token-of-16-chars-or-more";
const HASH = [...sha256(TOKEN)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** A sidecar that no socket leads to. */
interface Serving {
  readonly options: ServeHttpOptions;
  ask(path: string, headers?: Record<string, string>): Promise<Response>;
}

/** Runs `serve` while `use` asks it; answers its exit code and what it said. */
async function serving(
  args: readonly string[],
  use: (sidecar: Serving) => Promise<void>,
  options: RunOptions = {},
): Promise<{ code: number; stderr: string; stdout: string }> {
  return await withStoreFolder(async (store) => {
    let failure: unknown;
    const served: TestIo = new TestIo({
      ...options,
      io: {
        async serve(handler: FetchHandler, listen: ServeHttpOptions) {
          const ask: Serving["ask"] = (path, headers) =>
            handler(new Request(`http://127.0.0.1:7460${path}`, { headers }));
          const used = use({ options: listen, ask })
            .catch((error) => void (failure = error))
            .finally(() => served.signal("SIGTERM"));
          return await Promise.resolve({ url: "http://127.0.0.1:7460", close: () => used });
        },
      },
    });
    const { code, stderr, stdout } = await served.run(["serve", "--store", store, ...args]);
    if (failure !== undefined) throw failure;
    return { code, stderr, stdout };
  });
}

async function withStoreFolder<Result>(use: (store: string) => Promise<Result>): Promise<Result> {
  let result: Result;
  await withFolder(async (folder) => {
    result = await use(join(folder, "store"));
  });
  return result!;
}

async function tokenFile(folder: string, token = TOKEN, mode = 0o600): Promise<string> {
  const path = join(folder, "tokens.json");
  const tokens = [{ name: "p", token, jobs: ["orders"], rights: ["read"] }];
  await writeFile(path, JSON.stringify({ tokens }));
  await chmod(path, mode);
  return path;
}

describe("serve", () => {
  test("refuses another address than loopback without tokens, and says what to do", async () => {
    for (
      const address of [
        "0.0.0.0:0",
        "[::]:0",
        "192.168.1.7:1",
        "example.org:1",
        "127.0.0.1.nip.io:1",
      ]
    ) {
      await withFolder(async (folder) => {
        const args = ["serve", "--store", join(folder, "store"), "--listen", address];
        const { code, stderr } = await run(args);
        assert.equal(code, 2, address);
        assert.match(stderr, /without tokens.*--token-file.*TIDEMARK_TOKEN.*--insecure-no-auth/);
        assert.deepEqual(await readdir(folder), []);
      });
    }
  });

  test("takes it where that is asked for, and warns", async () => {
    const { code, stderr } = await serving(
      ["--listen", "0.0.0.0:0", "--insecure-no-auth", "--json"],
      async ({ ask, options }) => {
        assert.deepEqual([options.hostname, options.port], ["0.0.0.0", 0]);
        assert.equal((await ask("/v1/jobs", { host: "side.car" })).status, 200);
      },
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /"WARN".*no token is asked for/);
  });

  test("asks for the token of the environment, anywhere, and warns of clear text", async () => {
    for (const listen of ["127.0.0.1:0", "0.0.0.0:0"]) {
      const { code, stderr, stdout } = await serving(
        ["--listen", listen, "--json"],
        async ({ ask }) => {
          assert.equal((await ask("/v1/jobs")).status, 401);
          const headers = { authorization: `Bearer ${TOKEN}`, host: "side.car" };
          assert.equal((await ask("/v1/jobs", headers)).status, 200);
          assert.equal((await ask("/healthz")).status, 200);
        },
        { env: { TIDEMARK_TOKEN: TOKEN } },
      );
      assert.equal(code, 0, stderr);
      assert.equal(/clear text/.test(stderr), listen.startsWith("0.0.0.0"));
      assert.equal(`${stderr}${stdout}`.includes(TOKEN), false);
    }
  });

  test("asks for the tokens of a file, in plain or by hash", () =>
    withFolder(async (folder) => {
      for (const token of [TOKEN, `sha256:${HASH}`]) {
        const path = await tokenFile(folder, token);
        const { code, stderr } = await serving(["--token-file", path], async ({ ask }) => {
          const headers = { authorization: `Bearer ${TOKEN}` };
          assert.equal((await ask("/v1/jobs/orders", headers)).status, 404);
          assert.equal((await ask("/v1/jobs/others", headers)).status, 403);
          assert.equal((await ask("/v1/jobs/orders")).status, 401);
        });
        assert.equal(code, 0, stderr);
      }
    }));

  test("refuses a token, or a file of them, that can't be used, before it makes a store", () =>
    withFolder(async (folder) => {
      const store = join(folder, "store");
      const refused = async (reason: RegExp, env: Record<string, string>, code = 2) => {
        const ended = await run(["serve", "--store", store], { env });
        assert.equal(ended.code, code, ended.stderr);
        assert.match(ended.stderr, reason);
        assert.equal(ended.stderr.includes(TOKEN), false);
        assert.equal((await readdir(folder)).includes("store"), false);
      };
      await refused(/TIDEMARK_TOKEN: wants 16 to 512/, { TIDEMARK_TOKEN: "short" });
      await refused(/no such file/, { TIDEMARK_TOKEN_FILE: join(folder, "none") });
      if (process.platform !== "win32") {
        const open = await tokenFile(folder, TOKEN, 0o644);
        await refused(/chmod 600/, { TIDEMARK_TOKEN_FILE: open }, 6);
      }
      const bad = await tokenFile(folder, "short");
      await refused(/tokens\.0\.token wants/, { TIDEMARK_TOKEN_FILE: bad });
    }));

  test("answers only to names of loopback where it asks for no token", async () => {
    await serving([], async ({ ask }) => {
      assert.equal((await ask("/v1/jobs", { host: "localhost:7460" })).status, 200);
      assert.equal((await ask("/v1/jobs", { host: "evil.example:7460" })).status, 403);
    });
  });

  test("lets pages of the origins ask that are named", async () => {
    const named = "https://a.example,http://b.example:81";
    await serving(["--cors-origin", named], async ({ ask }) => {
      for (const origin of named.split(",")) {
        const answer = await ask("/v1/jobs", { origin });
        assert.deepEqual(
          [answer.status, answer.headers.get("access-control-allow-origin")],
          [200, origin],
        );
      }
      assert.equal((await ask("/v1/jobs", { origin: "https://c.example" })).status, 403);
    });
    for (const wrong of ["*", "a.example", "https://a.example/", "https://a.example,"]) {
      const { code, stderr } = await run(["serve", "--cors-origin", wrong]);
      assert.equal(code, 2, wrong);
      assert.match(stderr, /origins such as/);
    }
  });

  test("wants certificate and key together, and on no socket", async () => {
    for (const args of [["--tls-cert", "c"], ["--tls-key", "k"]]) {
      const { code, stderr } = await run(["serve", ...args]);
      assert.equal(code, 2);
      assert.match(stderr, /alone: give --tls-(?:key|cert) too/);
    }
    const both = ["--tls-cert", "c", "--tls-key", "k", "--listen", "unix:s"];
    assert.match((await run(["serve", ...both])).stderr, /Cannot use TLS on unix:/);
  });

  test("asks for no token on a socket, which only its user may use", async () => {
    const { code } = await serving(["--listen", "unix:some.sock"], async ({ ask, options }) => {
      assert.ok(options.path?.endsWith("/some.sock"));
      assert.equal((await ask("/v1/jobs", { host: "whatever" })).status, 200);
    });
    assert.equal(code, 0);
  });
});

describe("a command with --url", () => {
  /** The header that a command sends. */
  async function sent(env: Record<string, string>): Promise<{ sent: string[]; stderr: string }> {
    const headers: string[] = [];
    const fetch = (request: Request): Promise<Response> => {
      headers.push(request.headers.get("authorization") ?? "none");
      return Promise.resolve(Response.json({ jobs: [] }));
    };
    const io = new TestIo({ env, io: { fetch } });
    await main(["ls", "--url", "http://127.0.0.1:7460"], io.io);
    return { sent: headers, stderr: io.stderr };
  }

  test("sends the token of the environment, or the first of the file", () =>
    withFolder(async (folder) => {
      const file = await tokenFile(folder);
      const other = "other-token-of-16-chars";
      assert.deepEqual((await sent({})).sent, ["none"]);
      assert.deepEqual((await sent({ TIDEMARK_TOKEN: other })).sent, [`Bearer ${other}`]);
      assert.deepEqual((await sent({ TIDEMARK_TOKEN_FILE: file })).sent, [`Bearer ${TOKEN}`]);
      const both = { TIDEMARK_TOKEN: other, TIDEMARK_TOKEN_FILE: file };
      assert.deepEqual((await sent(both)).sent, [`Bearer ${other}`]);
    }));

  test("sends nothing where the file holds only hashes, and says so", () =>
    withFolder(async (folder) => {
      const TIDEMARK_TOKEN_FILE = await tokenFile(folder, `sha256:${HASH}`);
      const { sent: none, stderr } = await sent({ TIDEMARK_TOKEN_FILE });
      assert.deepEqual(none, []);
      assert.match(stderr, /only hashes/);
    }));
});

test("config says that there is a token, and not which", async () => {
  const { stdout } = await run(["config"], { env: { TIDEMARK_TOKEN: TOKEN } });
  assert.match(stdout, /token +\(secret\) +environment TIDEMARK_TOKEN/);
  assert.equal(stdout.includes(TOKEN), false);
});
