import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TidemarkError } from "../../src/engine/errors.ts";
import { ReloadingTokens } from "../../src/http/reloading_tokens.ts";
import { firstToken, TokenTable } from "../../src/http/token_table.ts";
import { sha256 } from "../../src/runtime/secret_file.ts";
import { ManualClock } from "../doubles/manual_clock.ts";
import { RecordingLogger } from "../doubles/recording_logger.ts";

const PLAIN = "plain-token-of-16";
const HASHED = "another_token+of/24~=";

interface Row {
  secret?: unknown;
  name?: unknown;
  token?: unknown;
  jobs?: unknown;
  rights?: unknown;
}

function textOf(...rows: Row[]): string {
  const tokens = rows.map((row, at) => ({
    name: `t${at}`,
    token: `${PLAIN}-${at}`,
    jobs: ["*"],
    rights: ["read"],
    ...row,
  }));
  return JSON.stringify({ tokens });
}

function parse(text: string): TokenTable {
  return TokenTable.parse(text, { sha256, name: "token file t.json" });
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

describe("TokenTable", () => {
  test("knows tokens in plain and by hash, and no others", () => {
    const table = parse(textOf({ token: PLAIN }, { token: `sha256:${hexOf(sha256(HASHED))}` }));
    assert.equal(table.size, 2);
    assert.equal(table.grantOf(PLAIN)?.name, "t0");
    assert.equal(table.grantOf(HASHED)?.name, "t1");
    for (const other of ["", PLAIN.slice(1), `${PLAIN} `, PLAIN.toUpperCase(), "x".repeat(9999)]) {
      assert.equal(table.grantOf(other), undefined, other);
    }
    // A leaked hash is no token.
    assert.equal(table.grantOf(`sha256:${hexOf(sha256(HASHED))}`), undefined);
  });

  test("looks at every entry, wherever the token is", () => {
    const rows = Array.from({ length: 100 }, () => ({}));
    const table = parse(textOf(...rows));
    for (const at of [0, 50, 99]) assert.equal(table.grantOf(`${PLAIN}-${at}`)?.name, `t${at}`);
  });

  test("gives the rights that stand there: append is no read, admin is everything", () => {
    const table = parse(
      textOf({ rights: ["append"] }, { rights: ["read"] }, { rights: ["admin"] }),
    );
    const allowed = [0, 1, 2].map((at) => {
      const grant = table.grantOf(`${PLAIN}-${at}`)!;
      return (["read", "append", "admin"] as const).filter((right) => grant.allows(right, "j"));
    });
    assert.deepEqual(allowed, [["append"], ["read"], ["read", "append", "admin"]]);
  });

  test("gives them for the jobs that are named, those with a prefix, or all and the store", () => {
    const table = parse(textOf({ jobs: ["orders", "eu-*"] }, { jobs: ["orders", "*"] }));
    const [some, all] = [table.grantOf(`${PLAIN}-0`)!, table.grantOf(`${PLAIN}-1`)!];
    for (const job of ["orders", "eu-", "eu-west"]) assert.equal(some.allows("read", job), true);
    for (const job of ["Orders", "orders2", "eu", "x-eu-1", "*", "eu*", ""]) {
      assert.equal(some.allows("read", job), false, job);
      assert.equal(all.allows("read", job), true, job);
    }
    assert.equal(some.allows("read", undefined), false);
    assert.equal(all.allows("read", undefined), true);
  });

  test("takes a master token, with a text or without", () => {
    const alone = TokenTable.parse(undefined, { sha256, masterToken: HASHED });
    assert.equal(alone.grantOf(HASHED)?.allows("admin", undefined), true);
    const both = TokenTable.parse(textOf({ token: PLAIN }), { sha256, masterToken: HASHED });
    assert.deepEqual([both.size, both.grantOf(PLAIN)?.name], [2, "t0"]);
    for (
      const masterToken of [
        "short",
        "",
        `sha256:${"a".repeat(64)}`,
        "x".repeat(513),
        "a b".repeat(9),
      ]
    ) {
      assert.throws(() => TokenTable.parse(undefined, { sha256, masterToken }), /TIDEMARK_TOKEN/);
    }
    assert.throws(
      () => TokenTable.parse(textOf({ token: HASHED }), { sha256, masterToken: HASHED }),
      /t0 is the same token as TIDEMARK_TOKEN/,
    );
  });

  const BAD: readonly (readonly [string, string, RegExp])[] = [
    ["no JSON", `{"tokens": [{"token": "${PLAIN}", }]}`, /no JSON/],
    ["cut off", `{"tokens": [{"token": "${PLAIN}`, /no JSON/],
    ["empty", "", /no JSON/],
    ["a token and nothing else", PLAIN, /no JSON/],
    ["a token where a value belongs", `{"tokens": ${HASHED}}`, /no JSON/],
    ["a list", `["${PLAIN}"]`, /tokens is missing; 0 is not known/],
    ["without tokens", '{"tokens":[]}', /at least one token/],
    ["of a number", textOf({ token: 12345678901234567890 }), /tokens\.0\.token wants a text/],
    ["too short", textOf({ token: PLAIN.slice(0, 15) }), /tokens\.0\.token wants 16 to 512/],
    ["too long", textOf({ token: PLAIN.repeat(99) }), /tokens\.0\.token wants 16 to 512/],
    ["of other characters", textOf({}, { token: `${PLAIN} ü` }), /tokens\.1\.token wants 16/],
    ["a bad hash", textOf({ token: "sha256:abc" }), /tokens\.0\.token wants .*64 hexadecimal/],
    ["twice the token", textOf({ token: PLAIN }, { token: PLAIN }), /t1 is the same token as t0/],
    [
      "twice, once by hash",
      textOf({ token: HASHED }, { token: `sha256:${hexOf(sha256(HASHED)).toUpperCase()}` }),
      /t1 is the same token as t0/,
    ],
    ["twice the name", textOf({ name: "a" }, { name: "a" }), /two tokens have the name a/],
    ["without a name", textOf({ name: undefined }), /tokens\.0\.name is missing/],
    ["a name with a line break", textOf({ name: "a\nb" }), /tokens\.0\.name wants 1 to 64/],
    ["no rights", textOf({ rights: [] }), /tokens\.0\.rights wants at least one/],
    ["an unknown right", textOf({ rights: ["write"] }), /tokens\.0\.rights\.0 wants read/],
    ["no jobs", textOf({ jobs: [] }), /tokens\.0\.jobs wants at least one/],
    ["a pattern inside", textOf({ jobs: ["a*b"] }), /tokens\.0\.jobs\.0 wants a job/],
    ["a path for a job", textOf({ jobs: ["../x"] }), /tokens\.0\.jobs\.0 wants a job/],
    ["an unknown field", textOf({ secret: HASHED }), /tokens\.0\.secret is not known/],
    ["too many", textOf(...Array.from({ length: 1001 }, () => ({}))), /at most 1000/],
  ];
  for (const [what, text, reason] of BAD) {
    test(`refuses what is ${what}, and never says a token`, () => {
      assert.throws(() => parse(text), (error: TidemarkError) => {
        assert.equal(error.code, "invalid-request");
        assert.match(error.message, /token file t\.json/);
        assert.match(error.message, reason);
        const told = `${error.message} ${error.stack} ${
          JSON.stringify(error.details)
        } ${error.cause}`;
        for (const secret of [PLAIN.slice(0, 12), HASHED.slice(0, 12)]) {
          assert.equal(told.includes(secret), false, told);
        }
        return true;
      });
    });
  }

  test("gives the first token that is no hash to who is to send it", () => {
    const text = textOf({ token: `sha256:${"0".repeat(64)}` }, { token: PLAIN });
    assert.equal(firstToken(text, "token file"), PLAIN);
    assert.equal(
      firstToken(textOf({ token: `sha256:${"0".repeat(64)}` }), "token file"),
      undefined,
    );
  });
});

describe("ReloadingTokens", () => {
  function reloading() {
    const file = { version: "1", text: textOf({ token: PLAIN }), looks: 0 };
    const [clock, logger] = [new ManualClock(), new RecordingLogger()];
    const tokens = new ReloadingTokens({
      version: () => (file.looks++, file.version),
      load: () => parse(file.text),
      clock,
      logger,
    });
    return { file, clock, logger, tokens };
  }

  test("follows the file, looking at most once a second", async () => {
    const { file, clock, logger, tokens } = reloading();
    Object.assign(file, { version: "2", text: textOf({ token: HASHED }), looks: 0 });
    assert.equal(tokens.grantOf(PLAIN)?.name, "t0");
    await clock.advance(999);
    for (let request = 0; request < 9; request++) tokens.grantOf(PLAIN);
    assert.equal(file.looks, 0);
    await clock.advance(1);
    assert.equal(tokens.grantOf(PLAIN), undefined);
    assert.equal(tokens.grantOf(HASHED)?.name, "t0");
    assert.equal(file.looks, 1);
    assert.deepEqual(logger.records.map(({ level }) => level), ["info"]);
  });

  test("goes on with the old tokens where the new file is bad, and says so once", async () => {
    const { file, clock, logger, tokens } = reloading();
    Object.assign(file, { version: "2", text: `{"tokens":"${HASHED}` });
    for (let second = 0; second < 3; second++) {
      await clock.advance(1000);
      assert.equal(tokens.grantOf(PLAIN)?.name, "t0");
    }
    assert.deepEqual(logger.records.map(({ level }) => level), ["error"]);
    assert.match(JSON.stringify(logger.records), /no JSON/);
    assert.equal(JSON.stringify(logger.records).includes(HASHED), false);
    Object.assign(file, { version: "3", text: textOf({ token: HASHED }) });
    await clock.advance(1000);
    assert.deepEqual([tokens.grantOf(PLAIN), tokens.grantOf(HASHED)?.name], [undefined, "t0"]);
  });

  test("tries again what could not be read, though the file stays as it is", async () => {
    const file = { version: "1", error: undefined as string | undefined, token: PLAIN };
    const [clock, logger] = [new ManualClock(), new RecordingLogger()];
    const tokens = new ReloadingTokens({
      version: () => file.version,
      load() {
        if (file.error !== undefined) throw new Error(file.error);
        return parse(textOf({ token: file.token }));
      },
      clock,
      logger,
    });
    Object.assign(file, { version: "2", error: "too many open files", token: HASHED });
    await clock.advance(1000);
    assert.equal(tokens.grantOf(PLAIN)?.name, "t0");
    file.error = undefined;
    await clock.advance(1000);
    assert.deepEqual([tokens.grantOf(PLAIN), tokens.grantOf(HASHED)?.name], [undefined, "t0"]);
    file.error = "gone";
    for (let times = 0; times < 2; times++) tokens.reload();
    const levels = logger.records.map(({ level }) => level);
    assert.deepEqual(levels, ["error", "info", "error", "error"]);
  });

  test("reads the file at once when it is told to, changed or not", () => {
    const { file, tokens } = reloading();
    file.text = textOf({ token: HASHED });
    tokens.reload();
    assert.deepEqual([tokens.grantOf(PLAIN), tokens.grantOf(HASHED)?.name], [undefined, "t0"]);
  });

  test("does not begin with a bad file", () => {
    const load = () => parse("{");
    const options = { version: () => "1", load, clock: new ManualClock() };
    assert.throws(() => new ReloadingTokens(options), /no JSON/);
  });
});
