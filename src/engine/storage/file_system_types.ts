/**
 * File systems by the numbers of statfs(2) (Linux, include/uapi/linux/magic.h and their own sources).
 * @module
 */

/** Those of other machines: refused. */
export const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x01021997, "9p"],
  [0x00c36400, "Ceph"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x564c, "NCP"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
  [0xaad7aaea, "PanFS"],
  [0x786f4256, "VirtualBox shared folder"],
  [0xbacbacbc, "VMware shared folder"],
  [0x65735546, "FUSE (GlusterFS, sshfs, an object store's mount or the like)"],
]);

/** Those that do not last, each with why: warned of. */
export const TRANSIENT_TYPES: ReadonlyMap<number, string> = new Map([
  [0x01021994, "tmpfs: it is lost when the machine stops"],
  [0x858458f6, "ramfs: it is lost when the machine stops"],
  [0x794c7630, "overlay: it is lost with the container, unless it is the host's own"],
]);

/** Those that the guarantees are tested on. */
export const TESTED_TYPES: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext4"],
  [0x58465342, "XFS"],
]);

/** Others of this machine's disks. */
export const OTHER_TYPES: ReadonlyMap<number, string> = new Map([
  [0x9123683e, "Btrfs"],
  [0x2fc12fc1, "ZFS"],
  [0xf2f52010, "F2FS"],
  [0xca451a4e, "bcachefs"],
]);
