/** What runs when `tidemark` is called. */
import { runProcess } from "../runtime/cli_io.ts";
import { main } from "./cli.ts";

await runProcess(main);
