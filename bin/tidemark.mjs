#!/usr/bin/env -S node --max-semi-space-size=4
// The command in a checkout, on Node: loads the TypeScript sources as they are. docs/SIZING.md says what the flag is for.
import { register } from "tsx/esm/api";

register();
await import("../src/cli/main.ts");
