// The options of this host: its drives, its files, what becomes of an interrupted cleaning. Inner
// to config/: a part of the table in config/oslo/schema.cpp.
#pragma once

#include <array>

#include "config/oslo/options.h"

namespace reclaim::config {

inline constexpr std::array kHostOptions = {
    // ---------------------------------------------------------------------------------------- nvme
    Option{
        .group = "nvme",
        .name = "device_spec",
        .type = OptionType::multi,
        .help =
            "The drives Reclaim may erase, as JSON; no other is ever touched, and without any "
            "entry "
            "none is. May be given several times; the first entry that matches a drive counts. "
            "Keys: vendor_id and product_id (hex, or \"*\"); address, a glob like \"*:0a:00.*\" or "
            "an object of regular expressions {\"domain\", \"bus\", \"slot\", \"function\"}; "
            "clear_action (auto, sanitize, zero, format); clear_strategy (auto, crypto, block); "
            "managed (does libvirt bind the drive back to the nvme driver? default true); tags; "
            "verify (log, sample, nist, full; default: the option verify); relax, a list of "
            "cross-checks that this model is known to break (global_data_erased, "
            "unreadable_blocks, deallocated_value), named in every certificate; firmware, a list "
            "of the revisions that a tenant may leave; percentage_used_max (default 100, 255: no "
            "limit); media_errors_max (new ones in a tenancy, default 0); zero_rate (bytes a "
            "second of zeroing, as 500M); "
            "shared_subsystem (refuse, allow). Keys of Nova's [pci] device_spec are accepted, of "
            "them only resource_class has an effect. Example: "
            "{\"vendor_id\": \"8086\", \"address\": \"0000:0a:00.*\"}",
        .shared = true},
    Option{
        .group = "nvme",
        .name = "manage_providers",
        .type = OptionType::boolean,
        .fallback = "false",
        .help =
            "Register every drive that a device_spec entry matches, and for which no provider "
            "stands, in Placement as the Cyborg specification says: under the compute node's "
            "provider, with OWNER_CYBORG, reserved, and cleaned before its first tenant. A drive "
            "that bears partitions, filesystems or LVM waits for `reclaim device set ADDRESS "
            "--enrol`. Not for drives that Nova or Cyborg report."},
    Option{.group = "nvme",
           .name = "manage_every_drive",
           .type = OptionType::boolean,
           .fallback = "false",
           .help = "true: with manage_providers, a device_spec entry that matches every drive of "
                   "the host (any vendor, any product, any address) is meant so. false: it is an "
                   "error."},
    Option{
        .group = "nvme",
        .name = "cleanup_timeout",
        .type = OptionType::integer,
        .fallback = "900",
        .help =
            "Seconds one cleaning may take before the device goes to 'error'. Writing zeroes to a "
            "large drive can need hours.",
        .min = 60,
        .max = 604800},
    Option{.group = "nvme",
           .name = "stall_timeout_s",
           .type = OptionType::integer,
           .fallback = "600",
           .help = "Seconds a sanitize may go on without any progress.",
           .min = 30,
           .max = 86400},
    Option{.group = "nvme",
           .name = "verify_samples",
           .type = OptionType::integer,
           .fallback = "256",
           .help = "Places of a drive read before and after the erase, shared out among its "
                   "namespaces. Their digests stand in the device's record.",
           .min = 16,
           .max = 2048},
    Option{.group = "nvme",
           .name = "verify",
           .fallback = "sample",
           .help = "How much of a drive is read after its erase, where its device_spec does not "
                   "say: log (nothing; the word of the drive's log, only of a sanitize), sample "
                   "(the places sampled before, and the canaries), nist (NIST SP 800-88r1: 1000 "
                   "subsections, two samples each, at least a tenth of the media) or full.",
           .choices = "log,sample,nist,full"},
    Option{.group = "nvme",
           .name = "zero_rate_max",
           .fallback = "0",
           .help = "Bytes a second that zeroing may write to all drives of this host together, as "
                   "2G (K, M, G and T are powers of 1024); 0: no limit."},
    Option{.group = "nvme",
           .name = "clean_step_priority_override",
           .type = OptionType::multi,
           .help = "Another priority for a clean step, as INTERFACE.STEP:PRIORITY; the highest "
                   "comes first, 0 leaves it out, and no two may be equal. The steps and their "
                   "priorities are "
                   "nvme.check_health (90, the only one that can be left out), "
                   "nvme.recover_sanitize (85), nvme.reset_controller_state (80) and "
                   "nvme.reset_namespaces (70); the erase follows at 50. May be given several "
                   "times."},
    Option{.group = "nvme",
           .name = "max_parallel",
           .type = OptionType::integer,
           .fallback = "8",
           .help = "Drives of this host cleaned at the same time.",
           .min = 1,
           .max = 64},
    // ------------------------------------------------------------------------------------ recovery
    Option{
        .group = "recovery",
        .name = "interrupted_cleaning",
        .fallback = "auto",
        .help =
            "What becomes of a device that was being cleaned when Reclaim went down. error: an "
            "operator looks at it (the Cyborg specification's rule). resume: a running sanitize is "
            "adopted, anything else starts over. auto: resume for Nova's devices, error for "
            "Cyborg's.",
        .choices = "auto,error,resume"},
    // -------------------------------------------------------------------------------- certificates
    Option{.group = "certificates",
           .name = "signing_key",
           .fallback = "",
           .help =
               "The private key (PEM, Ed25519, no passphrase, readable by its owner alone) that "
               "the certificates of erasures are signed with. Default: STATE_PATH/certificate.key, "
               "made at the first start. The public half stands beside it in certificate.key.pub."},
    // ------------------------------------------------------------------------------------ security
    Option{.group = "security",
           .name = "order_key_file",
           .fallback = "",
           .help =
               "A key (64 hexadecimal digits, `openssl rand -hex 32`, readable by its owner alone) "
               "that operators' machines and the hosts share. An order that accepts something, as "
               "`device set --enrol` does, is taken from another machine only with it; root on the "
               "host itself needs none. Default: only the host itself may say such a thing."},
    // ------------------------------------------------------------------------------------- reclaim
    Option{
        .group = "reclaim",
        .name = "provider_name",
        .help =
            "The name of this host's root resource provider, the hypervisor's host name. Default: "
            "[DEFAULT] host, and where no provider bears that, its fully qualified name."},
    Option{.group = "reclaim",
           .name = "survey_interval_s",
           .type = OptionType::integer,
           .fallback = "60",
           .help = "Seconds between two looks at Placement without any event, for events get lost.",
           .min = 5,
           .max = 86400},
    Option{.group = "reclaim",
           .name = "survey_delays_s",
           .type = OptionType::list,
           .fallback = "0,5,30",
           .help = "Seconds after an event at which to look, for some events come before the "
                   "allocation is "
                   "gone."},
    Option{.group = "reclaim", .name = "sysfs_root", .fallback = "/sys", .help = "Where sysfs is."},
    Option{.group = "reclaim",
           .name = "dev_root",
           .fallback = "/dev",
           .help = "Where device nodes are."},
    Option{
        .group = "reclaim", .name = "proc_root", .fallback = "/proc", .help = "Where procfs is."},
    Option{
        .group = "reclaim",
        .name = "libvirt_dirs",
        .type = OptionType::list,
        .fallback = "/run/libvirt/qemu,/etc/libvirt/qemu",
        .help =
            "Directories of libvirt's domain files, running and defined. As long as one does not "
            "exist or cannot be read, no drive is cleaned: libvirt makes them when it starts. "
            "Where libvirt runs in a container, name its volumes, such as "
            "/var/lib/docker/volumes/nova_libvirt_qemu/_data for /etc/libvirt/qemu. none: there "
            "is no libvirt on this host."},
    Option{.group = "reclaim",
           .name = "compute_id_file",
           .fallback = "/var/lib/nova/compute_id",
           .help = "Nova's file with the UUID of this host's root provider."},
    Option{.group = "reclaim",
           .name = "machine_id_file",
           .fallback = "/etc/machine-id",
           .help = "What tells this machine from one with a copied configuration."},
    Option{.group = "reclaim",
           .name = "run_path",
           .fallback = "/run/reclaim",
           .help = "Where the kernel's lock files are kept."},
};

}  // namespace reclaim::config
