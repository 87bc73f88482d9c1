/**
 * Lives of a job, each a row of steps. A step is `VERB`, `VERB LABEL` or, by a second owner, `B VERB …`; a label names
 * a checkpoint. The verbs are those of `_life.ts`.
 * @module
 */
export const LIVES: Readonly<Record<string, string>> = {
  "first days": "open, append, persist, append, checkpoint one, append, persist, close",
  "a tail taken over": `open, append, persist, append, B open, B append, B persist, persist,
    B checkpoint one, append, checkpoint two, B append, B persist, B close`,
  "runs": `open, append, checkpoint one, append, persist, resume tail, append, persist, resume one,
    append, persist, resume latest, append, checkpoint two, close`,
  "collections": `open, append, checkpoint one, append, checkpoint two, pin one, append,
    checkpoint three, retain, collect, unpin one, append, persist, collect, verify, close`,
  "branches that share files": `open, append, checkpoint one, append, persist, checkpoint two,
    resume one, append, persist, append, checkpoint three, retain, collect, restore three,
    append, persist, close`,
  "reopenings": `open, append, persist, close, open, append, persist, usage, append, checkpoint one,
    append, close, open, restore one, restore tail, append, persist, verify`,
  "files that end": `open, append, persist, append, persist, append, persist, append, persist,
    append, persist, checkpoint one, append, persist, append, persist, append, persist, resume tail,
    append, persist, checkpoint two, retain, collect, close`,
  "states that are shared": `open, append, snapshot one, append, snapshot two, retain, collect,
    resume two, append, snapshot three, collect, restore three, verify, usage, close`,
  "states of two owners": `open, append, snapshot one, append, B open, B append, B snapshot two,
    snapshot three, open, append, snapshot four, retain, collect, close`,
  "an owner that comes back": `open, append, checkpoint one, append, B open, B resume one, B append,
    B persist, persist, open, append, persist, B persist, checkpoint two, collect, close`,
};

export interface Step {
  readonly owner: "A" | "B";
  readonly verb: string;
  readonly label: string;
}

/** Reads a life. */
export function stepsOf(life: string): Step[] {
  return life.split(",").map((text) => {
    const words = text.trim().split(/\s+/);
    const owner = words[0] === "B" ? "B" : "A";
    const [verb, label = ""] = words[0] === "B" ? words.slice(1) : words;
    return { owner, verb, label };
  });
}
