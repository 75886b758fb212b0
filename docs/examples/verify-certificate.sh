#!/bin/sh
# verify-certificate.sh PUBLIC_KEY FILE|FOLDER... [SEQUENCE:SHA256]
#
# Verifies sealed certificates of Reclaim without Reclaim: a file alone, or a folder as a chain,
# from its oldest key on. An entry that endorses the host's next key puts it in its place; one that
# revokes a key says from which entry on that key proves nothing. SEQUENCE:SHA256 was noted of an
# entry before: each folder has to have it, so that a chain which was cut is found out.
# Needs openssl (3.0 or later), sed, grep, cmp and coreutils. Says "ok" of each, and exits with 0
# when all is well, or with 1 and a line that says what is wrong at the first error.
set -eu
LC_ALL=C
export LC_ALL

# What comes from elsewhere moves no cursor and begins no line.
refuse() {
  printf '%s: %s' "$1" "$2" | tr -c '\040-\176' '?' >&2
  echo >&2
  exit 1
}

# The exact form: three lines and nothing else. The file is rebuilt from the two parts that may
# differ and must come out identical: a second "sealed" could be read in place of the signed one.
verify_file() {
  test -f "$1" || refuse "$1" "is not a file"
  test "$(wc -c < "$1")" -le 1310720 || refuse "$1" "is longer than a sealed certificate can be"
  sed -n 2p "$1" > "$work/signed"
  sed -n '3s/^,"signature":"\([A-Za-z0-9+/]\{86\}==\)"}$/\1/p' "$1" | base64 -d > "$work/signature"
  {
    printf '{"sealed":\n'
    cat "$work/signed"
    printf ',"signature":"%s"}\n' "$(base64 -w 0 "$work/signature")"
  } | cmp -s - "$1" || refuse "$1" "is not exactly one whole sealed certificate"
  grep -aEqx "$form" "$work/signed" ||
    refuse "$1" "does not have the form of a sealed certificate, or is signed with another key"
  ! grep -aq "$of_a_key" "$work/signed" || grep -aEqx "$key_form" "$work/signed" ||
    refuse "$1" "tells of a key in another form than Reclaim's"
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$work/signed" \
    -sigfile "$work/signature" > "$work/said" 2>&1 ||
    refuse "$1" "the signature does not fit: the file was changed"
  members > "$work/members"
  sort "$work/members" | uniq -d > "$work/twice"
  sed -n '/\\./p' "$work/members" >> "$work/twice"
  test ! -s "$work/twice" || refuse "$1" "has a member twice, or spells one with an escape"
}

# The names of the members of what is sealed. A text holds no quote of its own.
members() {
  depth=0
  grep -aEo '"([^"\\]|\\.)*":?|[][{}]' "$work/signed" | while IFS= read -r part; do
    case $part in
    '[' | '{') depth=$((depth + 1)) ;;
    ']' | '}') depth=$((depth - 1)) ;;
    *:) test "$depth" -ne 2 || printf '%s\n' "$part" ;;
    esac
  done
}

# The key that the files from here on are signed with, and where it stands.
use_key() {
  key=$1
  openssl pkey -pubin -inform PEM -in "$key" -noout -text 2> "$work/said" |
    grep -q '^ED25519 Public-Key' ||
    refuse "$2" "has no Ed25519 public key"
  openssl pkey -pubin -in "$key" -outform DER -out "$work/der"
  key_id=$(sha256sum < "$work/der" | cut -d' ' -f1)
  form='"certificate":\{.*|"audit":\{"schema":[12],"id":"[0-9a-f-]*","event":"[a-z_]*",.*'
  form='"previous":"[0-9a-f]{64}","key_id":"'$key_id'",('$form')\}\}'
  form='\{"sequence":[1-9][0-9]*,'$form
}

# An entry of the audit that decides over keys: how it begins, and all of it. A text holds no quote
# of its own.
of_a_key='^[^{]*{[^{]*"audit":{"schema":[12],"id":"[0-9a-f-]*","event":"key_'
text='"([^"\\]|\\["\\bfnrt]|\\u00[01][0-9A-F])*"'
named='","host":'$text',"address":'$text',"serial":'$text',"instance":'$text',"detail":'$text
endorsed='endorsed'$named',"public_key":'$text
revoked='revoked'$named',"public_key":"","key_id":"[0-9a-f]{64}","from_sequence":[1-9][0-9]{0,14}'
key_form='[^{]*\{[^{]*"audit":\{"schema":[12],"id":"[0-9a-f-]*","event":"key_'
key_form=$key_form'('$endorsed'|'$revoked'),"at":"[0-9T:.Z-]*"\}\}'

# Of an entry that endorses a key, the key.
follow_key() {
  grep -aq "$of_a_key"'endorsed",' "$work/signed" || return 0
  sed -n 's/^.*,"public_key":"\([^"]*\)","at":"[^"]*"}}$/\1/p' "$work/signed" |
    sed 's/\\n/\n/g' > "$work/next"
  mv "$work/next" "$work/key"
  use_key "$work/key" "$1"
}

# Of an entry that revokes a key: which one, and from where on what it signed is void.
note_revocation() {
  said=$of_a_key'revoked",.*,"key_id":"\([0-9a-f]*\)","from_sequence":\([0-9]*\),.*$'
  sed -n "s/$said/\1 \2/p" "$work/signed" >> "$work/revoked"
}

# Once all is whole: what was signed before its key was revoked, too.
check_not_revoked() {
  while read -r leaked from; do
    while read -r signer sequence file; do
      test "$signer" != "$leaked" || test "$sequence" -lt "$from" ||
        refuse "$1/$file" "is signed with a key that is revoked from entry $from on"
    done < "$work/signers"
  done < "$work/revoked"
}

# Every file: its name, its place, its predecessor; and the newest, which `head` names.
verify_folder() {
  for file in "$1"/.[!.]* "$1"/..?*; do
    case $file in *.tmp) continue ;; esac
    if test -e "$file" || test -L "$file"; then
      refuse "$file" "is not a certificate of this chain"
    fi
  done
  : > "$work/revoked"
  : > "$work/signers"
  found=$expected
  before=$(printf '%064d' 0)
  number=0
  for file in "$1"/*; do
    test "$file" != "$1/head" || continue
    verify_file "$file"
    number=$((number + 1))
    id=$(sed 's/^[^{]*{[^{]*{"schema":[12],"id":"\([0-9a-f-]*\)".*$/\1/' "$work/signed")
    test "${file##*/}" = "$(printf '%09d' "$number")-$id.json" ||
      refuse "$file" "is not at the place in its name, or an earlier file is missing"
    grep -aq "^{\"sequence\":$number,\"previous\":\"$before\"," "$work/signed" ||
      refuse "$file" "is not chained to the file before"
    printf '%s %s %s\n' "$key_id" "$number" "${file##*/}" >> "$work/signers"
    note_revocation
    follow_key "$file"
    before=$(sha256sum < "$file" | cut -d' ' -f1)
    printf '%s  %s\n' "$before" "${file##*/}" > "$work/head"
    test "$found" != "$number:$before" || found=
  done
  test "$number" -gt 0 || refuse "$1" "has no certificate"
  test -f "$1/head" || refuse "$1/head" "is not a file"
  cmp -s "$work/head" "$1/head" || refuse "$1/head" "does not name the newest certificate"
  check_not_revoked "$1"
  test -z "$found" ||
    refuse "$1" "does not have entry $found: it was cut, or another history was written"
}

# A name that begins with - is no option.
path_of() {
  case $1 in -*) printf './%s' "$1" ;; *) printf '%s' "$1" ;; esac
}

# Whether an argument is a noted entry, SEQUENCE:SHA256. An argument that names a file is none.
is_noted() {
  test ! -e "$1" && expr "x$1" : 'x[1-9][0-9]*:[0-9a-f]\{64\}$' > /dev/null
}

expected=
for each in "$@"; do expected=$each; done
is_noted "$expected" || expected=
least=2
test -z "$expected" || least=3
test $# -ge $least ||
  refuse "usage" "$0 PUBLIC_KEY FILE|FOLDER... [SEQUENCE:SHA256]"
given=$(path_of "$1")
shift
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
for each in "$@"; do
  test "$each" != "$expected" || continue
  each=$(path_of "$each")
  use_key "$given" "$given"
  if test -d "$each"; then
    verify_folder "$each"
  else
    test -z "$expected" || refuse "$each" "is no folder, in which a noted entry could be"
    verify_file "$each"
  fi
  echo ok
done
