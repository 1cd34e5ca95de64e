#!/bin/sh
# Usage: needs_test.sh READELF LIBRARY
# A program that embeds the library starts on a machine without what only some programs use.
set -eu
all=$("$1" -d "$2")
needs=$(echo "$all" | grep NEEDED | grep -E 'lib(mpi|hdf5|dnnl|microhttpd|minizip|jpeg|png|tiff|webp)' || true)
[ -z "$needs" ] && exit
echo "$2 needs libraries that it opens when they are used:"
echo "$needs"
exit 1
