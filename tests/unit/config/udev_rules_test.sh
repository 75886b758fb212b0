#!/bin/sh
# config/59-reclaim.rules under the real udevadm, on a sysfs of our own making: an owned drive is
# marked before blkid and multipath would look at it, so is its partition and a drive below a
# virtual subsystem, and a drive that nobody listed is not. Needs udevadm, root and mount
# namespaces; without them it is skipped (77).
#
# udev_rules_test.sh RULES_FILE
set -eu

if [ "${2:-}" != inside ]; then
  if ! command -v udevadm >/dev/null || [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
    echo "skipped: needs udevadm, root and mount namespaces"
    exit 77
  fi
  exec unshare -m sh "$0" "$(realpath "$1")" inside
fi

# From here on /run, /dev and /sys are this namespace's own: no real device can be seen or touched.
mount -t tmpfs tmpfs /run
mkdir -p /run/udev/rules.d /run/sys
# The operator's edit: the first line, by address, and the third, by ids.
sed -e 's/^#\(ENV{.RECLAIM_ADDRESS}=="\*0000:c1\)/\1/' \
    -e 's/^#ENV{.RECLAIM_IDS}=="\*0x8086:0x0a54/ENV{.RECLAIM_IDS}=="*0x144d:0xa80a/' "$1" \
  > /run/udev/rules.d/59-reclaim.rules
[ "$(grep -c '^ENV.*ENV{RECLAIM_OWNED}="1"' /run/udev/rules.d/59-reclaim.rules)" = 2 ]

cd /run/sys
mkdir -p bus/pci/devices class/block class/nvme class/nvme-subsystem devices/virtual/nvme-subsystem
function_of() {  # address vendor device controller
  directory=devices/pci0000:c0/$1
  mkdir -p "$directory/nvme/$4"
  echo "$2" > "$directory/vendor"
  echo "$3" > "$directory/device"
  ln -s /sys/bus/pci "$directory/subsystem"
  printf 'DRIVER=nvme\nPCI_SLOT_NAME=%s\n' "$1" > "$directory/uevent"
  ln -s "/sys/$directory" "bus/pci/devices/$1"
  echo "$1" > "$directory/nvme/$4/address"
  printf 'MAJOR=240\nMINOR=0\nDEVNAME=%s\n' "$4" > "$directory/nvme/$4/uevent"
  ln -s /sys/class/nvme "$directory/nvme/$4/subsystem"
}
block() {  # directory name minor type
  mkdir -p "$1/$2"
  printf 'MAJOR=259\nMINOR=%s\nDEVNAME=%s\nDEVTYPE=%s\n' "$3" "$2" "$4" > "$1/$2/uevent"
  echo "259:$3" > "$1/$2/dev"
  ln -s /sys/class/block "$1/$2/subsystem"
  ln -s "/sys/$1/$2" "class/block/$2"
}
function_of 0000:c1:00.0 0x8086 0x0a54 nvme0
function_of 0000:c5:00.0 0x144d 0xa80a nvme1
function_of 0000:c6:00.0 0x144d 0xa80a nvme2
function_of 0000:d1:00.0 0x1344 0x51a2 nvme3
echo > devices/pci0000:c0/uevent
block devices/pci0000:c0/0000:c1:00.0/nvme/nvme0 nvme0n1 0 disk
block devices/pci0000:c0/0000:c1:00.0/nvme/nvme0/nvme0n1 nvme0n1p1 1 partition
block devices/pci0000:c0/0000:d1:00.0/nvme/nvme3 nvme3n1 3 disk
# A drive with two controllers: its disk hangs below the subsystem, which links to them.
subsystem=devices/virtual/nvme-subsystem/nvme-subsys1
block $subsystem nvme1n1 2 disk
echo > $subsystem/uevent
ln -s /sys/class/nvme-subsystem $subsystem/subsystem
ln -s /sys/devices/pci0000:c0/0000:c5:00.0/nvme/nvme1 $subsystem/nvme1
ln -s /sys/devices/pci0000:c0/0000:c6:00.0/nvme/nvme2 $subsystem/nvme2
mount --bind /run/sys /sys
mount -t tmpfs tmpfs /dev
mknod /dev/null c 1 3
export SYSTEMD_DEVICE_VERIFY_SYSFS=0

failures=0
expect() {  # owned|free device
  udevadm test --action=add "/sys/class/block/$2" > /run/out 2> /run/err
  if grep -E '59-reclaim.rules:[0-9]+ (Invalid|Unknown|Failed)' /run/err; then
    failures=$((failures + 1))
  fi
  for mark in RECLAIM_OWNED=1 UDEV_DISABLE_PERSISTENT_STORAGE_BLKID_FLAG=1 SYSTEMD_READY=0 \
              nompath=1 DM_MULTIPATH_DEVICE_PATH=0 UDISKS_IGNORE=1 UDISKS_AUTO=0; do
    grep -qx "$mark" /run/out && found=owned || found=free
    if [ "$found" != "$1" ]; then
      echo "$2: $mark says '$found', expected '$1'"
      failures=$((failures + 1))
    fi
  done
  # The rest of the installed rules agrees: blkid runs for a free drive and for no owned one.
  if [ -e /usr/lib/udev/rules.d/60-persistent-storage.rules ]; then
    grep -q "builtin command 'blkid'" /run/err && found=free || found=owned
    if [ "$found" != "$1" ]; then
      echo "$2: blkid says '$found', expected '$1'"
      failures=$((failures + 1))
    fi
  fi
}
expect owned nvme0n1
expect owned nvme0n1p1
expect owned nvme1n1
expect free nvme3n1
[ -L /dev/reclaim/nvme0n1 ] || { echo "no /dev/reclaim/nvme0n1"; failures=$((failures + 1)); }
echo "$failures failures"
[ $failures = 0 ]
