/** Memory into which whoever receives changes reads them, encoded, before a writer appends them. @module */
export { takeWhole as takeAppendMemory } from "./_chunk_memory.ts";
