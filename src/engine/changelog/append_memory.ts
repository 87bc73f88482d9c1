/** Memory into which whoever receives changes reads them, encoded, before a writer appends them. @module */
import type { BodyMemory } from "../port/request_body.ts";
import { adopt, moved, takeWhole } from "./_chunk_memory.ts";

/** It is used again once what was appended from it is durable. */
export const APPEND_MEMORY: BodyMemory = { take: takeWhole, moved, adopt };
