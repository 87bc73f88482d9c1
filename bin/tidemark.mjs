#!/usr/bin/env node
// Loads the TypeScript sources as they are; `bin/tidemark` begins Node with it.
import { register } from "tsx/esm/api";

register();
await import("../src/cli/main.ts");
