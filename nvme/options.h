// The options of nvme/. config/ fills them; tests point the roots at a tree of their own. Passive
// data, copied into each object that needs it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nvme/command/options.h"
#include "nvme/firmware/options.h"

namespace reclaim::nvme {

struct Options {
  // The roots of the host's trees. Nothing in nvme/ names /sys, /dev or /proc by itself.
  std::string sysfs_root = "/sys";
  std::string dev_root = "/dev";
  std::string proc_root = "/proc";
  std::string run_path = "/run/reclaim";  // the lock files of the host, one a drive

  // The directories where libvirt keeps its domains' XML: running and defined. One that is not
  // there or cannot be read refuses every claim. Empty: an operator said that there is no libvirt
  // on this host.
  std::vector<std::string> libvirt_dirs = {"/run/libvirt/qemu", "/etc/libvirt/qemu"};

  // The time that a claim waits for the nvme driver, for its controller to be live and for the
  // nodes of its namespaces, after a guest or after a takeover; and the pause between two looks.
  std::int64_t driver_wait_ms = 10'000;
  std::int64_t driver_poll_ms = 200;

  std::size_t threads_max = 8;  // drives worked on at the same time; more are refused as busy

  // Verification (docs/drives.md). One sample is one read; the samples of a drive are
  // shared out among its namespaces.
  std::uint32_t samples_max = 256;
  std::uint32_t sample_bytes = 131'072;  // rounded up to the namespace's block size
  std::int64_t read_retry_ms = 10'000;   // reads right after a sanitize may fail for a moment
  std::int64_t read_retry_pause_ms = 200;

  // The wait for an unmanaged drive that is too hot after its erase, and the pause between two
  // looks. A drive that stays on the nvme driver is waited for without its thread's help.
  std::int64_t hot_wait_ms = 600'000;
  std::int64_t hot_poll_ms = 10'000;

  // The large reads of the levels nist and full: how many are in flight, their size and how long
  // they may take.
  std::size_t verify_queue_depth = 8;
  std::uint64_t verify_chunk_bytes = 1'048'576;
  std::int64_t verify_timeout_ms = 604'800'000;  // mostly the cleaning's own time ends earlier
  std::int64_t verify_stall_timeout_ms = 600'000;

  // Zeroing by the host (overwrite): O_DIRECT writes of this size, so many in flight.
  std::size_t zero_queue_depth = 8;
  std::uint64_t zero_chunk_bytes = 1'048'576;
  // Zeroing by the drive (write_zeroes): what the kernel is asked for at a time; it makes commands
  // of it that the drive takes, and cannot be interrupted meanwhile.
  std::size_t write_zeroes_queue_depth = 4;
  std::uint64_t write_zeroes_chunk_bytes = 67'108'864;
  std::uint32_t zero_retries_max = 3;  // of a chunk, where an error may pass
  // An erase that such an error ends all the same goes on from what reads back as zero, so often,
  // each time after a pause in which a controller can be reset.
  std::uint32_t zero_continuations_max = 10;
  std::int64_t zero_continue_pause_ms = 5'000;
  // The time between two marks that another worker could go on from; each flushes the drive.
  std::int64_t zero_mark_interval_ms = 10'000;
  // The limit on zeroing and of reading in bulk, all drives of the host together; 0: no limit.
  std::uint64_t zero_bytes_per_s_max = 0;

  // One Format NVM is one command that ends when all is erased. It is given what is left of the
  // cleaning's timeout, but never less than this; no other is begun once the timeout has passed.
  std::uint32_t format_timeout_ms = 600'000;

  // Erase.
  // The longest pause between two looks at the sanitize log; near the end it is shorter
  // (nvme/erase/sanitize_pace.h).
  std::int64_t poll_interval_ms = 1'000;
  std::int64_t settle_ms = 3'000;       // for the log to catch up with a finished sanitize
  std::uint32_t log_failures_max = 30;  // looks in a row that may fail before all is unknown
  // The time that a baseline waits for a sanitize that somebody else started.
  std::int64_t foreign_sanitize_timeout_ms = 900'000;

  // The time that a survey waits for drives to say what they are. A drive that has not answered by
  // then is told of without its answer, and not asked again while the command hangs.
  std::int64_t discovery_timeout_ms = 5'000;
  // A look also reads the sanitize log, for who shows what a drive estimates. The worker's surveys
  // do not need it: a claim reads it.
  bool looks_at_sanitize = false;

  std::string psid_file;  // of nvme/controller/psids.h; empty: none
  uid_t psid_owner = 0;   // whose it has to be

  CommandOptions command;    // of operators' own steps
  FirmwareOptions firmware;  // put back where a drive's differs

  // The timeout of each admin command; on expiry the kernel resets the controller, so it is
  // generous.
  std::uint32_t admin_timeout_ms = 60'000;
};

}  // namespace reclaim::nvme
