#!/bin/bash
# Certificates for a Redis of one's own with TLS.
#
#   redis_tls.sh DIR
#
# Makes in DIR two authorities, ca.pem and other-ca.pem. Signed by the first: server.pem (for
# localhost and 127.0.0.1), expired.pem, elsewhere.pem (for another name) and client.pem; by the
# second: other-client.pem; by nobody: self-signed.pem. Each has its key beside it, as server.key.
set -euo pipefail

[ $# -eq 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
cd "$1"
umask 077

new_key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
here=subjectAltName=DNS:localhost,IP:127.0.0.1

# self_signed NAME [openssl req options...]
self_signed() {
    openssl req -x509 "${new_key[@]}" -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" \
        "${@:2}" 2>/dev/null
}

# signed NAME AUTHORITY SUBJECT_ALT_NAME [openssl x509 options...]
signed() {
    openssl req "${new_key[@]}" -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    echo "$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \
        -extfile "$1.ext" -out "$1.pem" "${@:4}" 2>/dev/null
}

self_signed ca
self_signed other-ca
self_signed self-signed -addext "$here"
signed server ca "$here" -days 2
signed elsewhere ca subjectAltName=DNS:elsewhere.example,IP:192.0.2.7 -days 2
signed client ca subjectAltName=DNS:client -days 3
signed other-client other-ca subjectAltName=DNS:client -days 2
# OpenSSL 3.4 refuses an end before the start, and has options for both.
if openssl x509 -help 2>&1 | grep -q -- -not_after; then
    signed expired ca "$here" -not_before 20200101000000Z -not_after 20200102000000Z
else
    signed expired ca "$here" -days -1
fi
