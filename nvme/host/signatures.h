// Finds the signatures on the media of a drive that nobody gave us yet: partition tables,
// filesystems, LVM, md, swap, LUKS, by libblkid. Whatever cannot be read is an error, never
// "nothing found": of a drive of which nothing was found, the content is going to be erased without
// asking. Blocking; thread: any but the loop's.
#pragma once

#include <string>
#include <vector>

#include "nvme/options.h"
#include "nvme/stop_flag.h"
#include "state/base/pci_address.h"
#include "state/base/result.h"

namespace reclaim::nvme {

// The first and the last of a disk, where signatures are.
enum class Edges {
  have_to_be_read,
  // Nothing is found on a disk whose edges cannot be read: for a drive that is known to bar reading
  // because of what was done to it.
  may_be_barred,
  // The edges have to be read, and each of them and the middle has to be one byte repeated: content
  // that no signature tells of, as that of plain dm-crypt or of an SPDK blobstore, is found too.
  have_to_be_blank,
};

// One line for each ("nvme0n1: gpt partition table", "nvme0n1: LVM2_member"), and for each device
// that the host has built on a disk or its partitions ("nvme0n1: held by dm-0"). Where they have to
// be blank, one for each disk that has none, but content ("nvme0n1: data without a signature"). A
// drive without namespaces has none. Opened read-only, never exclusively. Errc::busy: not now;
// refused: a namespace that cannot be read, detached ones included; not_found: no such function;
// cancelled.
[[nodiscard]] Result<std::vector<std::string>> find_signatures(
    const Options& options, const PciAddress& address, const StopFlag& stop,
    Edges edges = Edges::have_to_be_read);

}  // namespace reclaim::nvme
