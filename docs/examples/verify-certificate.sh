#!/bin/sh
# verify-certificate.sh PUBLIC_KEY FILE|FOLDER... [SEQUENCE:SHA256]
#
# Verifies sealed certificates of Reclaim without Reclaim: a file alone, or a folder as a chain,
# from its oldest key on. An entry that endorses the host's next key puts it in its place; one that
# revokes a key says from which entry on that key proves nothing. SEQUENCE:SHA256 was noted of an
# entry before: each folder has to have it, so that a chain which was cut is found out.
# Needs openssl (3.0 or later), sed, grep, cmp, iconv and coreutils. Says "ok" of each and what it
# is, and exits with 0 when all is well, or with 1 and a line that says what is wrong at the first
# error.
set -eu
LC_ALL=C
export LC_ALL

# What comes from elsewhere moves no cursor and begins no line.
refuse() {
  printf '%s: %s' "$1" "$2" | tr -c '\040-\176' '?' >&2
  echo >&2
  exit 1
}

# Copies a file, of so many bytes at most, into the work folder, as what: it is read once, so what
# is judged is one text, whoever may write it meanwhile.
copy() {
  test -f "$1" || refuse "$1" "is not a file"
  head -c $(($2 + 1)) < "$1" > "$work/$3" || refuse "$1" "cannot be read"
  test "$(wc -c < "$work/$3")" -le "$2" || refuse "$1" "is longer than $4 can be"
}

# The exact form: three lines and nothing else. The file is rebuilt from the two parts that may
# differ and must come out identical: a second "sealed" could be read in place of the signed one.
verify_file() {
  copy "$1" 1310720 file "a sealed certificate"
  sed -n 2p "$work/file" > "$work/signed"
  sed -n '3s/^,"signature":"\([A-Za-z0-9+/]\{86\}==\)"}$/\1/p' "$work/file" |
    base64 -d > "$work/signature"
  {
    printf '{"sealed":\n'
    cat "$work/signed"
    printf ',"signature":"%s"}\n' "$(base64 -w 0 "$work/signature")"
  } | cmp -s - "$work/file" || refuse "$1" "is not exactly one whole sealed certificate"
  grep -aEqx "$form" "$work/signed" ||
    refuse "$1" "does not have the form of a sealed certificate, or is signed with another key"
  ! grep -aq "$of_a_key" "$work/signed" || grep -aEqx "$key_form" "$work/signed" ||
    refuse "$1" "tells of a key in another form than Reclaim's"
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$work/signed" \
    -sigfile "$work/signature" > "$work/said" 2>&1 ||
    refuse "$1" "the signature does not fit: the file was changed"
  is_spelled || refuse "$1" "is not spelled as Reclaim writes it"
  members | sort | uniq -d > "$work/twice"
  test ! -s "$work/twice" || refuse "$1" "has a member twice"
  ! grep -aEo "$time_of$text" "$work/signed" | grep -aEvqx "$time_of$time" ||
    refuse "$1" "has a time that does not exist"
  number=$(sed 's/^{"sequence":\([0-9]*\),.*$/\1/' "$work/signed")
  id=$(sed 's/^[^{]*{[^{]*{"schema":[123],"id":"\([0-9a-f-]*\)".*$/\1/' "$work/signed")
  name=$(printf '%09d' "$number")-$id.json
  test "${1##*/}" = "$name" || ! expr "x/$1" : "x.*/$sealed_name" > /dev/null ||
    refuse "$1" "is not what its name says"
}

# Whether what is sealed is JSON as Reclaim writes it: no blanks, one spelling for each text, whole
# numbers. Each text becomes "" and each number 0; then what holds only such becomes 0, from the
# inside out, until that is all.
is_spelled() {
  test "$(tr -d '\n' < "$work/signed" | tr -dc '\000-\037' | wc -c)" -eq 0 &&
    iconv -f UTF-8 -t UTF-16 "$work/signed" > "$work/said" 2>&1 &&
    sed -E 's#^[^{]*\{[^{]*"(certificate|audit)":(.*)\}$#\2#;s#'"$text"'#""#g;'"$reduce" \
      "$work/signed" | grep -aqx 0
}

# The members of what is sealed, one a line, each with the number of its object.
members() {
  objects=0
  within=
  grep -aEo "$text"':?|[{}]' "$work/signed" | while IFS= read -r part; do
    case $part in
    '{')
      objects=$((objects + 1))
      within="$objects $within" ;;
    '}') within=${within#* } ;;
    *:) printf '%s %s\n' "${within%% *}" "$part" ;;
    esac
  done
}

# The key that the files from here on are signed with, and where it stands: one block and no other,
# for of two one tool reads the first and another the second. With a point of small order, the four
# rows, anybody can sign.
use_key() {
  test "$(grep -ao -e '-----BEGIN' "$1" | wc -l)" -eq 1 ||
    refuse "$2" "does not have exactly one block that begins with -----BEGIN"
  key=$work/key
  { grep -aq -e '-----BEGIN PUBLIC KEY-----' "$1" &&
    openssl pkey -pubin -inform PEM -in "$1" -out "$key" 2> "$work/said" &&
    openssl pkey -pubin -in "$key" -noout -text | grep -q '^ED25519 Public-Key'; } ||
    refuse "$2" "has no Ed25519 public key"
  openssl pkey -pubin -in "$key" -outform DER -out "$work/der"
  case $(tail -c 32 "$work/der" | od -An -v -tx1 | tr -d ' \n') in
  0[01]"$zeroes"[08]0 | e[c-e]"$effs"[7f]f | \
    c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03[7f]a | \
    26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc[08]5)
    refuse "$2" "has a public key of small order, with which anybody can sign" ;;
  esac
  key_id=$(sha256sum < "$work/der" | cut -d' ' -f1)
  form='"certificate":\{'$front',.*|"audit":\{'$front',"event":"[a-z_]*",.*'
  form='"previous":"[0-9a-f]{64}","key_id":"'$key_id'",('$form')\}\}'
  form='\{"sequence":[1-9][0-9]{0,14},'$form
}
zeroes=$(printf '%060d' 0)
effs=$(printf '%s' "$zeroes" | tr 0 f)

# What Reclaim writes: of all that is sealed, times among it; of the two entries of the audit that
# decide over keys, how they begin, and all of each.
uuid='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
front='"schema":[123],"id":"'$uuid'"'
of_keys='"schema":[12],"id":"'$uuid'"'
sealed_name='[0-9]\{9,\}-[0-9a-fA-F]\{8\}\(-[0-9a-fA-F]\{4\}\)\{3\}-[0-9a-fA-F]\{12\}\.json$'
text='"([^"\\]|\\["\\bfnrt]|\\u00(0[0-7BEF]|1[0-9A-F]))*"'
plain='(""|0)(,(""|0))*'
named='"":(""|0)(,"":(""|0))*'
reduce='s#\[('$plain')?\]|\{('$named')?\}#0#g;'
reduce=$reduce$reduce$reduce$reduce
reduce='s#-?[1-9][0-9]{0,19}|0|true|false|null#0#g;'$reduce$reduce
time_of='[{,]"((started|verified|released)_)?at":'
leap='([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)'
time='[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|[0-9]{4}-(0[13-9]|1[0-2])-(29|30)'
time=$time'|[0-9]{4}-(0[13578]|1[02])-31|'$leap'-02-29'
time='"('$time')T([01][0-9]|2[0-3])(:[0-5][0-9]){2}\.[0-9]{3}Z"'
of_a_key='^[^{]*{[^{]*"audit":{"schema":[123],"id":"[0-9a-f-]*","event":"key_'
named='","host":'$text',"address":'$text',"serial":'$text',"instance":'$text',"detail":'$text
pem='"-----BEGIN PUBLIC KEY-----\\n[A-Za-z0-9+/]{59}=\\n-----END PUBLIC KEY-----\\n"'
endorsed='endorsed'$named',"public_key":'$pem
revoked='revoked'$named',"public_key":"","key_id":"[0-9a-f]{64}","from_sequence":[1-9][0-9]{0,14}'
key_form='[^{]*\{[^{]*"audit":\{'$of_keys',"event":"key_('$endorsed'|'$revoked'),"at":'$time'\}\}'

# Of an entry that endorses a key, the key.
follow_key() {
  grep -aq "$of_a_key"'endorsed",' "$work/signed" || return 0
  sed -n 's/^.*,"public_key":"\([^"]*\)","at":"[^"]*"}}$/\1/p' "$work/signed" |
    sed 's/\\n$//; s/\\n/\n/g' > "$work/next"
  use_key "$work/next" "$1"
  cmp -s "$work/next" "$key" ||
    refuse "$1" "tells of a key in another form than Reclaim's"
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

# Whether `head` names the newest. Of a chain that grows it named an earlier one before its files
# were listed, and by now it may name a later one.
is_head() {
  copy "$1/head" 4096 said "the name of the newest"
  cmp -s "$work/head" "$work/said" || {
    test -n "$named" && test "0$(sed -n "$number_of_head" "$work/said")" -gt "$place"
  }
}
number_of_head='s/^[0-9a-f]\{64\}  \([0-9]\{9,15\}\)-[0-9a-f-]*\.json$/\1/p'

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
  : > "$work/before"
  test ! -f "$1/head" || copy "$1/head" 4096 before "the name of the newest"
  named=
  found=$expected
  before=$(printf '%064d' 0)
  place=0
  for file in "$1"/*; do
    test "$file" != "$1/head" || continue
    verify_file "$file"
    place=$((place + 1))
    test "$number:${file##*/}" = "$place:$name" ||
      refuse "$file" "is not at the place in its name, or an earlier file is missing"
    grep -aq "^{\"sequence\":$number,\"previous\":\"$before\"," "$work/signed" ||
      refuse "$file" "is not chained to the file before"
    printf '%s %s %s\n' "$key_id" "$number" "${file##*/}" >> "$work/signers"
    note_revocation
    follow_key "$file"
    before=$(sha256sum < "$work/file" | cut -d' ' -f1)
    printf '%s  %s\n' "$before" "${file##*/}" > "$work/head"
    ! cmp -s "$work/head" "$work/before" || named=$number
    test "$found" != "$number:$before" || found=
  done
  test "$place" -gt 0 || refuse "$1" "has no certificate"
  is_head "$1" || { test -n "$named" && sleep 1 && is_head "$1"; } ||
    refuse "$1/head" "does not name the newest certificate"
  check_not_revoked "$1"
  test -z "$found" ||
    refuse "$1" "does not have entry $found: it was cut, or another history was written"
}

# What a file is, in a word, and of which drive.
kind_of() {
  sed -En 's#^[^{]*\{[^{]*"audit":\{'"$front"',"event":"([a-z_]*)".*$#audit \1 of serial #p' \
    "$work/signed" | grep . || printf 'certificate of serial '
  sed -En 's#^[^{]*\{[^{]*\{("[a-z_]+":('"$text"'|[0-9]+),)*"serial":('"$text"').*$#\5#p' \
    "$work/signed"
}

# Sets `path` to the file that an argument names: $( ) would cut line breaks off its end, and a name
# that begins with - would be taken for an option.
find_path() {
  case $1 in
  *[[:cntrl:]]*) refuse "$1" "has a control character in its name" ;;
  -*) path=./$1 ;;
  *) path=$1 ;;
  esac
}

# Whether an argument is a noted entry, SEQUENCE:SHA256. What begins like one is no file: a file of
# such a name is given as ./NAME.
is_noted() {
  case $1 in
  */*) return 1 ;;
  [0-9]*:*)
    expr "x$1" : 'x[1-9][0-9]*:[0-9a-f]\{64\}$' > /dev/null ||
      refuse "$1" "is not SEQUENCE:SHA256 (a file of such a name is given as ./NAME)" ;;
  *) return 1 ;;
  esac
}

expected=
for each in "$@"; do
  test -n "$each" || refuse "usage" "an empty argument names nothing"
  test -z "$expected" || refuse "usage" "SEQUENCE:SHA256 is the last argument, and there is one"
  ! is_noted "$each" || expected=$each
done
least=2
test -z "$expected" || least=3
test $# -ge $least ||
  refuse "usage" "$0 PUBLIC_KEY FILE|FOLDER... [SEQUENCE:SHA256]"
find_path "$1"
given=$path
shift
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
copy "$given" 16384 given "a public key"
for each in "$@"; do
  test "$each" != "$expected" || continue
  find_path "$each"
  use_key "$work/given" "$given"
  if test -d "$path"; then
    verify_folder "$path"
    echo "ok entries 1 to $place, the newest is $place:$before"
  else
    test -z "$expected" || refuse "$path" "is a file: a noted entry is looked for in a folder"
    verify_file "$path"
    printf 'ok entry %s, %s\n' "$number" "$(kind_of | tr -d '\n' | tr -c '\040-\176' '?')"
  fi
done
