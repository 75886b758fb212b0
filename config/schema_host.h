// The options of this host: its drives, its files, what becomes of an interrupted cleaning. Inner
// to config/: a part of the table in config/schema.cpp.
#pragma once

#include <array>

#include "config/declare.h"

namespace reclaim::config {

inline constexpr Group kNvme{"nvme"};
inline constexpr Group kDevices{"devices"};
inline constexpr Group kRecovery{"recovery"};
inline constexpr Group kCertificates{"certificates"};
inline constexpr Group kSecurity{"security"};
inline constexpr Group kMetrics{"metrics"};
inline constexpr Group kReclaim{"reclaim"};

inline constexpr std::array kHostOptions = {
    // ---------------------------------------------------------------------------------------- nvme
    kNvme.option(
        {.name = "device_spec",
         .type = OptionType::multi,
         .help =
             "The drives Reclaim may erase, as JSON; no other is ever touched, and without any "
             "entry none is. May be given several times; the first entry that matches a drive "
             "counts. Keys: vendor_id and product_id (hex, or \"*\"); address, a glob like "
             "\"*:0a:00.*\" or an object of regular expressions {\"domain\", \"bus\", \"slot\", "
             "\"function\"}; clear_action (auto, sanitize, zero, format); clear_strategy (auto, "
             "crypto, block); managed (does libvirt bind the drive back to the nvme driver? "
             "default true); tags; verify (log, sample, nist, full; default: the option verify); "
             "relax, a list of cross-checks that this model is known to break (global_data_erased, "
             "unreadable_blocks, deallocated_value, media_verification) and of warnings of its "
             "SMART log that are put up with (spare, temperature, reliability, read_only, backup, "
             "pmr), named in every certificate; firmware, a list of the revisions that a tenant "
             "may leave; percentage_used_max (default 100, 255: no "
             "limit); media_errors_max (new ones in a tenancy, default 0); zero_rate (bytes a "
             "second of zeroing, as 500M); cleanup_timeout (seconds, default: the option); steps "
             "(names of [step:NAME] sections); clean (auto, manual); shared_subsystem (refuse, "
             "allow). Keys of Nova's [pci] "
             "device_spec are accepted, of them only resource_class has an effect. Example: "
             "{\"vendor_id\": \"8086\", \"address\": \"0000:0a:00.*\"}",
         .shared = true}),
    kNvme.option<&Settings::conductor, &ConductorOptions::manage_providers>(
        {.name = "manage_providers",
         .fallback = "false",
         .help = "Register every drive that a device_spec entry matches, and for which no provider "
                 "stands, in Placement as the Cyborg specification says: under the compute node's "
                 "provider, with OWNER_CYBORG, reserved, and cleaned before its first tenant. A "
                 "drive that has partitions, filesystems or LVM waits for `reclaim device set "
                 "ADDRESS --enrol`. Not for drives that Nova or Cyborg report."}),
    kNvme.option<&Settings::conductor, &ConductorOptions::first_sight>(
        {.name = "enrol_first_sight",
         .fallback = "clean",
         .help =
             "What becomes of a device of Cyborg's (a drive, or what a [devices] entry lists) that "
             "is on offer when Reclaim sees it for the first time, whatever is on it. clean: it is "
             "reserved, cleaned, and offered again with a certificate. accept: Cyborg is believed "
             "that it is clean, and its next tenant gets it as it is. A device of Nova's is "
             "accepted: Nova reserves what it gives away.",
         .choices = "clean,accept"}),
    kNvme.option<&Settings::manage_every_drive>(
        {.name = "manage_every_drive",
         .fallback = "false",
         .help =
             "true: with manage_providers, a device_spec entry that matches every drive of the "
             "host (any vendor, any product, any address) is meant so. false: it is an error."}),
    kNvme.option<&Settings::conductor, &ConductorOptions::cleanup_timeout_ms>(
        {.name = "cleanup_timeout",
         .fallback = "900",
         .help = "Seconds that a cleaning may take before the device goes to 'error'. A sanitize "
                 "that the drive estimates to be longer, zeroing, and reading all of a drive get "
                 "what they need beside that: `reclaim plan`, column Time.",
         .range = Range{60, 604800},
         .times = kMsPerS}),
    kNvme.option<&Settings::conductor, &ConductorOptions::stall_timeout_ms>(
        {.name = "stall_timeout_s",
         .fallback = "600",
         .help = "Seconds a sanitize may go on without any progress.",
         .range = Range{30, 86400},
         .times = kMsPerS}),
    kNvme.option<&Settings::nvme, &nvme::Options::samples_max>(
        {.name = "verify_samples",
         .fallback = "256",
         .help = "Places of a drive read before and after the erase, shared out among its "
                 "namespaces. Their digests are in the device's record.",
         .range = Range{16, 2048}}),
    kNvme.option<&Settings::verify>(
        {.name = "verify",
         .fallback = "sample",
         .help = "How much of a drive is read after its erase, where its device_spec does not say: "
                 "log (nothing; the word of the drive's log, only of a sanitize), sample (the "
                 "places sampled before, and the canaries), nist (NIST SP 800-88r1: 1000 "
                 "subsections, two samples each, at least a tenth of the media) or full.",
         .choices = "log,sample,nist,full"}),
    kNvme.option({.name = "zero_rate_max",
                  .fallback = "0",
                  .help = "Bytes a second that zeroing may write to all drives of this host "
                          "together, and that reading after the erase (verify = nist, full) may "
                          "read, as 2G (K, M, G and T are powers of 1024); 0: no limit."}),
    kNvme.option(
        {.name = "clean_step_priority_override",
         .type = OptionType::multi,
         .help =
             "Another priority for a clean step, as INTERFACE.STEP:PRIORITY; the highest comes "
             "first, 0 leaves it out, and no two may be equal. The steps and their priorities are "
             "nvme.check_health (90, can be left out: then no drive is kept because of its "
             "health), "
             "nvme.restore_firmware (88 with "
             "firmware_images, else left out), nvme.recover_sanitize (85), "
             "nvme.reset_controller_state (80) and nvme.reset_namespaces (70); the erase "
             "follows at 50. May be given several times."}),
    kNvme.option(
        {.name = "firmware_images",
         .type = OptionType::multi,
         .help =
             "Firmware that is put back, as JSON like {\"model\": \"SAMSUNG MZQL21T9HCJR-00A07\", "
             "\"revision\": \"GDC5602Q\", \"slot\": 1, \"path\": "
             "\"/var/lib/reclaim/GDC5602Q.bin\", \"sha256\": \"9f86...\"}: model as `nvme id-ctrl` "
             "shows it, revision as `nvme "
             "fw-log` does, and a file that belongs to root and that nobody else may write. Where "
             "a slot is not what it was at the enrolment (or holds a revision that firmware of its "
             "device_spec does not name), nvme.restore_firmware writes the image of its model, "
             "slot and former revision and activates it. Without an image for each slot that "
             "differs "
             "nothing is written, and the drive goes to 'error'. Read at the start; `reclaim "
             "config check` reads the files too. May be given several times."}),
    kNvme.option<&Settings::nvme, &nvme::Options::psid_file>(
        {.name = "psid_file",
         .help = "A file that belongs to root and that only root may read. Each line has a "
                 "drive's serial number, a blank, and the PSID on its label; '#' begins a "
                 "comment. Where a tenant has locked a drive by TCG Opal, or owns it, "
                 "nvme.reset_controller_state reverts the drive by its PSID, once, before the "
                 "erase. A drive without a line goes to 'error' then. The file is read when it "
                 "is needed, and by `reclaim config check`."}),
    kNvme.option<&Settings::conductor, &ConductorOptions::cleanings_max>(
        {.name = "max_parallel",
         .fallback = "8",
         .help = "Drives of this host cleaned at the same time.",
         .range = Range{1, 64}}),
    // ------------------------------------------------------------------------------------- devices
    kDevices.option(
        {.name = "device_spec",
         .type = OptionType::multi,
         .help =
             "The PCI devices that are no NVMe drives and that Reclaim cleans, as JSON: network "
             "cards, GPUs, FPGAs. What no entry matches is only shown. May be given several "
             "times; the first entry that matches a device counts. Keys: vendor_id, product_id, "
             "address, tags, clean and steps as in [nvme] device_spec; type (what the device is "
             "called, like NIC; default: by its PCI class); driver (the driver that the host "
             "binds it to; without it only none and vfio drivers are accepted); rom_sha256 (a "
             "list: expansion ROMs that are accepted besides the one of the baseline); "
             "config_ignore (a list of bytes of the configuration space that change by "
             "themselves, like [\"0x64-0x67\"]). Its plan are the operator's own steps "
             "([step:NAME]) and the built-in checks; it is given back only if all of them "
             "succeed and one of the operator's has verifies = true. Keys of Nova's [pci] "
             "device_spec are accepted, of them only resource_class has an effect; an entry by "
             "devname is left out with a warning. Example: "
             "{\"vendor_id\": \"15b3\", \"type\": \"NIC\", \"driver\": \"mlx5_core\", "
             "\"steps\": [\"reflash\"]}"}),
    kDevices.option(
        {.name = "clean_step_priority_override",
         .type = OptionType::multi,
         .help =
             "Another priority for a built-in clean step of these devices, as "
             "INTERFACE.STEP:PRIORITY; the highest comes first, 0 leaves it out, and no two may "
             "be equal. The steps and their priorities are pci.reset (40), pci.check_config (30), "
             "pci.check_rom (20) and pci.check_health (10). May be given several times."}),
    // ------------------------------------------------------------------------------------ recovery
    kRecovery.option<&Settings::conductor, &ConductorOptions::interrupted_cleaning>(
        {.name = "interrupted_cleaning",
         .fallback = "auto",
         .help = "What becomes of a device that was being cleaned when Reclaim went down. error: "
                 "an operator looks at it (the Cyborg specification's rule). resume: a running "
                 "sanitize is adopted, a zeroing goes on where nobody else wrote, anything else "
                 "starts over. auto: resume for Nova's devices, error for Cyborg's.",
         .choices = "auto,error,resume"}),
    // -------------------------------------------------------------------------------- certificates
    kCertificates.option<&Settings::signing_key>(
        {.name = "signing_key",
         .fallback = "",
         .help =
             "The private key (PEM, Ed25519, no passphrase, readable by its owner alone) that the "
             "certificates of erasures are signed with. Default: STATE_PATH/certificate.key, made "
             "at the first start. The public half stands beside it in certificate.key.pub.",
         .form = Form::path}),
    kCertificates.option<&Settings::mirror_dir>(
        {.name = "mirror_dir",
         .fallback = "",
         .help =
             "A folder that exists, on another machine's storage perhaps. Each sealed certificate "
             "and audit entry is copied to a folder in it that has the host's name. A failure "
             "delays no release; it is tried again, and `reclaim doctor` shows what is missing. "
             "The systemd unit must be allowed to write there (ReadWritePaths= in a drop-in).",
         .form = Form::path}),
    kCertificates.option<&Settings::mirror_command>(
        {.name = "mirror_command",
         .fallback = "",
         .help =
             "An absolute path: a command that is run with the path of each sealed file as its one "
             "argument, in their order, as the commands of [step:NAME] are. Exit code 0: it has "
             "it; else the same file is tried again. It is killed after 300 seconds.",
         .form = Form::path}),
    kCertificates.option<&Settings::organization>(
        {.name = "organization",
         .fallback = "",
         .help =
             "Who answers for the erasures, as pages of certificates and reports name it. It is "
             "not part of what is signed."}),
    kCertificates.option<&Settings::signatory>(
        {.name = "signatory",
         .fallback = "",
         .help = "Who signs such a page by hand: a name and a title. It is not part of what is "
                 "signed."}),
    // ------------------------------------------------------------------------------------ security
    kSecurity.option<&Settings::order_key_file>(
        {.name = "order_key_file",
         .fallback = "",
         .help =
             "The key of orders that come from other machines. On operators' machines and nodes of "
             "the API: the fleet's master (64 hexadecimal digits, `openssl rand -hex 32`). On a "
             "host: its own line, as `reclaim security order-key --host NAME` prints it there. "
             "Readable by its owner alone (of `reclaim api`: root's, and of the group of its "
             "user). An order that accepts something, as `device set --enrol` does, is taken from "
             "another machine only with it; root on the host itself needs none. On a host that has "
             "one every order needs it. Default: only the host itself may say such a thing.",
         .form = Form::path}),
    // ------------------------------------------------------------------------------------- metrics
    kMetrics.option<&Settings::metrics_textfile>(
        {.name = "textfile",
         .fallback = "",
         .help = "The worker writes its metrics to this file every 15 s, for node_exporter's "
                 "textfile collector, as /var/lib/prometheus/node-exporter/reclaim.prom. It ends "
                 "in .prom. Default: none; `reclaim api` answers GET /metrics for all hosts ([api] "
                 "metrics).",
         .form = Form::path}),
    // ------------------------------------------------------------------------------------- reclaim
    kReclaim.option<&Settings::provider_name>(
        {.name = "provider_name",
         .help =
             "The name of this host's root resource provider, the hypervisor's host name. Default: "
             "[DEFAULT] host, and where no provider has that name, its fully qualified name."}),
    kReclaim.option<&Settings::conductor, &ConductorOptions::mode>(
        {.name = "mode",
         .fallback = "serve",
         .help =
             "serve: devices are reserved, cleaned and released. observe: the worker listens, "
             "surveys, decides and records as ever, and writes to no drive and to nothing in "
             "Placement; `reclaim device list` says what it would do. For the first days beside "
             "what cleans the drives today.",
         .choices = "serve,observe"}),
    kReclaim.option<&Settings::conductor, &ConductorOptions::labels>(
        {.name = "labels",
         .fallback = "",
         .help = "What this host is known by besides its name, as rack=7,room=b2: at most 16 words "
                 "of letters, digits and . - _ = : that `--label rack=7` of the commands with "
                 "--all-hosts chooses hosts by."}),
    kReclaim.option<&Settings::conductor, &ConductorOptions::survey_interval_ms>(
        {.name = "survey_interval_s",
         .fallback = "60",
         .help = "Seconds between two looks at Placement without any event, for events get lost.",
         .range = Range{5, 86400},
         .times = kMsPerS}),
    kReclaim.option<&Settings::conductor, &ConductorOptions::full_survey_interval_ms>(
        {.name = "full_survey_interval_s",
         .fallback = "600",
         .help = "Seconds after which a survey reads a device's provider again though Placement's "
                 "generations say that nothing has changed. 0: every survey reads every device.",
         .range = Range{0, 86400},
         .times = kMsPerS}),
    kReclaim.option({.name = "survey_delays_s",
                     .type = OptionType::list,
                     .fallback = "0,5,30",
                     .help = "Seconds after an event at which to look, for some events come before "
                             "the allocation is gone. A deletion's later looks are left out where "
                             "the first finds that the instance has no device here."}),
    kReclaim.option<&Settings::nvme, &nvme::Options::sysfs_root>(
        {.name = "sysfs_root", .fallback = "/sys", .help = "Where sysfs is.", .form = Form::path}),
    kReclaim.option<&Settings::nvme, &nvme::Options::dev_root>({.name = "dev_root",
                                                                .fallback = "/dev",
                                                                .help = "Where device nodes are.",
                                                                .form = Form::path}),
    kReclaim.option<&Settings::nvme, &nvme::Options::proc_root>(
        {.name = "proc_root", .fallback = "/proc", .help = "Where procfs is.", .form = Form::path}),
    kReclaim.option<&Settings::nvme, &nvme::Options::libvirt_dirs>(
        {.name = "libvirt_dirs",
         .fallback = "/run/libvirt/qemu,/etc/libvirt/qemu",
         .help = "Directories of libvirt's domain files, running and defined. As long as one does "
                 "not exist or cannot be read, no drive is cleaned: libvirt makes them when it "
                 "starts. Where libvirt runs in a container, name its volumes, such as "
                 "/var/lib/docker/volumes/nova_libvirt_qemu/_data for /etc/libvirt/qemu. none: "
                 "there is no libvirt on this host."}),
    kReclaim.option<&Settings::compute_id_file>(
        {.name = "compute_id_file",
         .fallback = "/var/lib/nova/compute_id",
         .help = "Nova's file with the UUID of this host's root provider.",
         .form = Form::path}),
    kReclaim.option<&Settings::machine_id_file>(
        {.name = "machine_id_file",
         .fallback = "/etc/machine-id",
         .help = "What tells this machine from one with a copied configuration.",
         .form = Form::path}),
    kReclaim.option<&Settings::nvme, &nvme::Options::run_path>(
        {.name = "run_path",
         .fallback = "/run/reclaim",
         .help = "Where the kernel's lock files are kept.",
         .form = Form::path}),
};

}  // namespace reclaim::config
