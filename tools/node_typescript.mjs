/**
 * Runs TypeScript on Node: `node --import ./tools/node_typescript.mjs FILE`. What each file becomes is kept in
 * `.cache/node`, so that the many processes of the suite need not make it again; with tsx every one of them takes half a
 * second of CPU time more.
 *
 * Owns: that the hooks are there. Does not own: the hooks (`_node_typescript_hooks.mjs`).
 * @module
 */
import { register } from "node:module";

register("./_node_typescript_hooks.mjs", import.meta.url);
