import { PosixBackend } from "../../../src/engine/storage/posix_backend.ts";
import { NodeFileSystem } from "../../../src/runtime/node_file_system.ts";
import { systemProcessInfo } from "../../../src/runtime/process_info.ts";
import { SystemRandom } from "../../../src/runtime/system_random.ts";
import { storageBackendConformance } from "../../conformance/storage_backend.ts";
import { ManualClock } from "../../doubles/manual_clock.ts";
import { RecordingLogger } from "../../doubles/recording_logger.ts";
import { temporaryFolder } from "../../runtime/temporary_folder.ts";

storageBackendConformance("PosixBackend over node:fs", async () => {
  const folder = await temporaryFolder();
  const backend = new PosixBackend({
    root: folder.path,
    fileSystem: new NodeFileSystem(),
    clock: new ManualClock(),
    random: new SystemRandom(),
    process: systemProcessInfo(),
    logger: new RecordingLogger(),
  });
  return {
    backend,
    async release() {
      await backend.close();
      await folder[Symbol.asyncDispose]();
    },
  };
});
