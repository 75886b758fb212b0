#!/bin/sh
# verify-certificate.sh PUBLIC_KEY FILE|FOLDER...
#
# Verifies sealed certificates of Reclaim without Reclaim: a file alone, or a folder as a chain.
# Needs openssl (3.0 or later), sha256sum, base64, sed, grep and cmp. Exits with 0 when all is well,
# or with 1 and a line that says what is wrong at the first error.
set -eu
LC_ALL=C
export LC_ALL

refuse() {
  echo "$1: $2" >&2
  exit 1
}

# The exact form: three lines and nothing else. The file is rebuilt from the two parts that may
# differ and must come out identical: a second "sealed" could be read in place of the signed one.
verify_file() {
  sed -n 2p "$1" > "$work/signed"
  sed -n '3s/^,"signature":"\([A-Za-z0-9+/]\{86\}==\)"}$/\1/p' "$1" | base64 -d > "$work/signature"
  {
    printf '{"sealed":\n'
    cat "$work/signed"
    printf ',"signature":"%s"}\n' "$(base64 -w 0 "$work/signature")"
  } | cmp -s - "$1" || refuse "$1" "is not exactly one whole sealed certificate"
  grep -aEqx "$form" "$work/signed" ||
    refuse "$1" "does not have the form of a sealed certificate, or is signed with another key"
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$work/signed" \
    -sigfile "$work/signature" > "$work/said" 2>&1 ||
    refuse "$1" "the signature does not fit: the file was changed"
}

# Every file: its name, its place, its predecessor; and the newest, which `head` names.
verify_folder() {
  before=$(printf '%064d' 0)
  number=0
  for file in "$1"/*; do
    test "$file" != "$1/head" || continue
    verify_file "$file"
    number=$((number + 1))
    id=$(sed 's/^[^{]*{[^{]*{"schema":1,"id":"\([0-9a-f-]*\)".*$/\1/' "$work/signed")
    test "${file##*/}" = "$(printf '%09d' "$number")-$id.json" ||
      refuse "$file" "is not at the place in its name, or an earlier file is missing"
    grep -aq "^{\"sequence\":$number,\"previous\":\"$before\"," "$work/signed" ||
      refuse "$file" "is not chained to the file before"
    before=$(sha256sum < "$file" | cut -d' ' -f1)
    printf '%s  %s\n' "$before" "${file##*/}" > "$work/head"
  done
  test "$number" -gt 0 || refuse "$1" "has no certificate"
  cmp -s "$work/head" "$1/head" || refuse "$1/head" "does not name the newest certificate"
}

test $# -ge 2 || refuse "usage" "$0 PUBLIC_KEY FILE|FOLDER..."
key=$1
shift
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
openssl pkey -pubin -in "$key" -outform DER -out "$work/key"
key_id=$(sha256sum < "$work/key" | cut -d' ' -f1)
form='\{"sequence":[1-9][0-9]*,"previous":"[0-9a-f]{64}","key_id":"'$key_id'",'
form=$form'"(certificate|audit)":\{.*\}\}'
for each in "$@"; do
  if test -d "$each"; then verify_folder "$each"; else verify_file "$each"; fi
done
