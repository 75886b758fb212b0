#!/bin/bash
# The Debian packages: built, looked at by lintian, and in a root of their own installed, upgraded
# from the version before, and purged. See --help.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/setup/packages_test.sh [--keep] [--root FOLDER]

Builds the packages in build/package and tries them in a root that mmdebstrap makes of this
machine's Debian. Nothing of this machine's is installed or changed but FOLDER and build/.

  --root FOLDER  make the root there, or use the one that is there [a temporary one]
  --keep         keep the root
Needs root, mmdebstrap, lintian and a package mirror. The exit code is 0 only if all is as it
should be.
TEXT
}

die() {
  echo "packages: $*" >&2
  exit 1
}

keep=
root=
while [[ $# -gt 0 ]]; do
  case $1 in
    --help) usage; exit 0 ;;
    --keep) keep=yes ;;
    --root) root=${2:?--root needs a folder}; keep=yes; shift ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
[[ $(id -u) -eq 0 ]] || die "needs root: run it with sudo"
for program in mmdebstrap lintian cpack unshare; do
  command -v "$program" >/dev/null ||
    die "$program is missing: apt-get install mmdebstrap lintian cmake"
done
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$project"
made=$project/build/package/made
rm -rf "$made"
mkdir -p "$made/old" "$made/new"

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
echo "packages: building"
cmake --preset release -B build/package -DCMAKE_INSTALL_PREFIX=/usr "${launcher[@]}" >"$made/log"
cmake --build build/package >>"$made/log" || { tail -30 "$made/log" >&2; die "the build failed"; }
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/package/CMakeCache.txt)
(cd "$made/old" && cpack --config ../../CPackConfig.cmake -R 0.0.9 >>"$made/log" 2>&1) ||
  { tail -30 "$made/log" >&2; die "cpack failed"; }
(cd "$made/new" && cpack --config ../../CPackConfig.cmake >>"$made/log" 2>&1) ||
  { tail -30 "$made/log" >&2; die "cpack failed"; }
rm -rf "$made"/*/_CPack_Packages
(cd "$made/new" && ls -1s --block-size=KiB ./*.deb)

echo "packages: lintian"
lintian --fail-on error --tag-display-limit 0 "$made"/new/*.deb || die "lintian found errors"

[[ -n $root ]] || root=$(mktemp -d -p /var/tmp reclaim-packages-XXXXXX)
finish() {
  local result=$?
  [[ -n $keep ]] || rm -rf --one-file-system "$root"
  exit "$result"
}
trap finish EXIT
if [[ ! -e $root/etc/debian_version ]]; then
  echo "packages: making a root"
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  mmdebstrap --quiet --variant=minbase --include=systemd,init-system-helpers,ca-certificates \
    "$suite" "$root" || die "mmdebstrap failed: check that the mirror is reachable"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/srv/packages"
cp -r "$made" "$root/srv/packages"

# shellcheck disable=SC2016  # expanded there
enter='
  mount -t proc proc "$1/proc"
  mkdir -p "$1/dev/shm"
  mount -t tmpfs tmpfs "$1/dev/shm"
  exec chroot "$1" bash -ec "$2"'
in_root() {
  unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive bash -ec "$enter" bash "$root" "$1"
}
expect() {  # WHAT COMMAND: what has to hold in the root
  in_root "$2" >"$made/said" 2>&1 || { cat "$made/said" >&2; die "not so: $1"; }
  echo "packages: ok: $1"
}

in_root "apt-get -q -y -o Acquire::Check-Valid-Until=false update" >"$made/log" 2>&1 ||
  { tail -5 "$made/log" >&2; die "no package lists: check that the mirror is reachable"; }
expect "nothing of an earlier run is left" \
  "dpkg --purge reclaim-dbgsym reclaim python3-reclaim-openstack"
expect "installed, with what it needs" \
  "apt-get -q -y install --no-install-recommends /srv/packages/old/reclaim_*.deb \
     /srv/packages/old/python3-reclaim-openstack_*.deb"
expect "the binary runs" "reclaim --version"
expect "its manual is there" "test -s /usr/share/man/man5/reclaim.conf.5.gz
   for page in '' -device -fleet -certificate -config; do
     test -s /usr/share/man/man8/reclaim\$page.8.gz
   done"
expect "bash finds its completion" "source /usr/share/bash-completion/completions/reclaim
   complete -p reclaim && test -s /usr/share/zsh/vendor-completions/_reclaim"
expect "the API's user finds its own configuration, and not the worker's" \
  "install -m 640 -g reclaim-api /dev/null /etc/reclaim/api.conf
   runuser -u reclaim-api -- test -r /etc/reclaim/api.conf
   ! runuser -u reclaim-api -- test -r /etc/reclaim/reclaim.conf
   rm /etc/reclaim/api.conf"
expect "nothing is enabled before it is configured" \
  "! test -e /etc/systemd/system/multi-user.target.wants/reclaim.service"
expect "the first configuration is refused for what it lacks, by name" \
  "reclaim config check 2>&1 | grep -q 'auth_type is not set'"
expect "the check before an upgrade fails for that, as oslo's do" \
  "reclaim-status upgrade check >/tmp/said && exit 1 || test \$? = 2
   grep -q 'Result: Failure' /tmp/said"
expect "the units are what systemd accepts" \
  "systemd-analyze verify --man=no reclaim.service reclaim-api.service"
expect "the client's commands are found" "/usr/bin/python3 -c \"
from importlib.metadata import entry_points
assert any('reclaim_openstack' in e.value for e in entry_points(group='openstack.extension'))\""
expect "the bill of materials names the libraries that are installed here" "/usr/bin/python3 -c \"
import json, subprocess
bill = json.load(open('/usr/share/doc/reclaim/sbom.cdx.json'))
loaded = [c for c in bill['components'] if {'name': 'reclaim:used', 'value': 'loaded'} in
          c['properties']]
assert len(loaded) > 10 and bill['metadata']['component']['version'] == '0.0.9', bill
for each in loaded:
    subprocess.run(['dpkg-query', '-W', each['name']], check=True)\""
expect "an operator's edit and the ledger are made" \
  "echo '[reclaim]' >>/etc/reclaim/reclaim.conf; echo 'mode = observe' >>/etc/reclaim/reclaim.conf
   mkdir -p /var/lib/reclaim && echo dirty >/var/lib/reclaim/ledger"
expect "upgraded" "apt-get -q -y install --no-install-recommends /srv/packages/new/reclaim_*.deb \
     /srv/packages/new/reclaim-dbgsym_*.deb /srv/packages/new/python3-reclaim-openstack_*.deb"
expect "it is version $version" "dpkg-query -W -f '\${Version}' reclaim | grep -qx $version"
expect "the edit is kept" "grep -q 'mode = observe' /etc/reclaim/reclaim.conf"
expect "debug symbols fit the binary" \
  "test -s /usr/lib/debug/usr/bin/reclaim.debug"
# The role, by Ansible in the root itself, with a folder without devices as /sys.
rm -rf "$root/srv/roles"
mkdir -p "$root/srv/roles" "$root/srv/sys/bus/pci/devices"
cp -r clients/ansible/reclaim "$root/srv/roles/reclaim"
cp clients/ansible/rolling_upgrade.yml "$root/srv/rolling_upgrade.yml"
cat >"$root/srv/play.yml" <<TEXT
- hosts: localhost
  connection: local
  roles: [reclaim]
  vars:
    reclaim_deb: /srv/packages/new/$(cd "$made/new" && echo reclaim_[0-9]*.deb)
    reclaim_config:
      DEFAULT: {transport_url: "rabbit://user:word@127.0.0.1/"}
      redis: {url: "redis://:wo\$rd@127.0.0.1:6379/0"}
      placement: {auth_type: password, auth_url: "https://127.0.0.1/identity", username: placement,
                  password: word, project_name: service, user_domain_name: Default,
                  project_domain_name: Default}
      nvme: {device_spec: [{vendor_id: "144d", product_id: "a80a"}, {vendor_id: "8086"}]}
      reclaim: {mode: observe, sysfs_root: /srv/sys}
TEXT
ansible="ANSIBLE_ROLES_PATH=/srv/roles ansible-playbook -i localhost,"
play="$ansible /srv/play.yml"
expect "Ansible is there" \
  "apt-get -q -y install --no-install-recommends ansible-core python3-apt"
expect "Ansible accepts the role" "$play --syntax-check"
expect "Ansible accepts the playbook of upgrades" \
  "$ansible /srv/rolling_upgrade.yml --syntax-check -e reclaim_deb=files/reclaim_NEW_amd64.deb"
expect "the role configures the host" "$play
   grep -qx 'device_spec = {.vendor_id.: .8086.}' /etc/reclaim/reclaim.conf
   test -s /etc/udev/rules.d/59-reclaim.rules"
expect "the second time it changes nothing" "$play | tee /tmp/said && grep -q changed=0 /tmp/said"
expect "a configuration that is wrong replaces nothing" \
  "sed -i 's/mode: obs/mode: abs/' /srv/play.yml
   $play && exit 1; grep -qx 'mode = observe' /etc/reclaim/reclaim.conf"
expect "purged" "apt-get -q -y purge reclaim reclaim-dbgsym python3-reclaim-openstack"
expect "the ledger survives a purge" "grep -q dirty /var/lib/reclaim/ledger"
expect "nothing else is left" \
  "! test -e /etc/reclaim/reclaim.conf && ! test -e /usr/bin/reclaim &&
     ! test -e /etc/logrotate.d/reclaim"
echo "packages: all as it should be"
