import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pathsMatching, readText } from "./_files.ts";

const manifest = JSON.parse(readText("package.json"));
const lock = JSON.parse(readText("package-lock.json"));
const deno = JSON.parse(readText("deno.json"));

describe("package.json", () => {
  test("names exact versions only", () => {
    const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.overrides };
    const loose = Object.entries(all).filter(([, version]) =>
      !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(String(version))
    );
    assert.deepEqual(loose, []);
  });

  test("pins the one cbor-extract that installs", () => {
    assert.equal(manifest.overrides["cbor-extract"], "2.2.2");
  });

  test("has the name and version of deno.json, the lock and the engine", () => {
    assert.equal(manifest.name, deno.name);
    const versions = [deno.version, lock.version, lock.packages[""].version];
    for (const path of pathsMatching(/^src\/engine\/version\.ts$/)) {
      versions.push(/const VERSION = "([^"]+)"/.exec(readText(path))?.[1]);
    }
    for (const version of versions) assert.equal(version, manifest.version);
  });

  test("and deno.json export the same entries", () => {
    assert.deepEqual(manifest.exports, deno.exports);
  });

  test("has the dependencies of its lock", () => {
    const { dependencies, devDependencies } = lock.packages[""];
    assert.deepEqual(dependencies, manifest.dependencies);
    assert.deepEqual(devDependencies, manifest.devDependencies);
  });
});

test("package-lock.json names no host", () => {
  const hosts = Object.entries<{ resolved?: string }>(lock.packages)
    .filter(([, entry]) => entry.resolved !== undefined);
  assert.deepEqual(hosts, []);
});

describe("deno.json", () => {
  test("begins each task so that the task shell starts a program of its own", () => {
    const bodies = Object.entries<string>(deno.tasks).filter(([, body]) =>
      !/^(?:env deno|npm) /.test(body)
    );
    assert.deepEqual(bodies, []);
  });

  test("takes packages from node_modules and has no lock of its own", () => {
    assert.equal(deno.nodeModulesDir, "manual");
    assert.equal(deno.lock, false);
  });
});
