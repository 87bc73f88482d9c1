#!/usr/bin/env node
// The command in a checkout, on Node: loads the TypeScript sources as they are.
import { register } from "tsx/esm/api";

register();
await import("../src/cli/main.ts");
