#!/usr/bin/env bash
# Real input, real peers: nginx serves the documentation of three Debian packages on loopback addresses; Amble and wget2
# crawl it from the same index pages, and every difference between what they reached is explained by name; warcio, from
# npm, and gzip check the archives. Debian only; as root it installs what is missing. Ends within five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/amble-conformance.XXXXXX")
chmod 755 "$work"
stop() {
	if [ -s "$work/nginx.pid" ]; then kill "$(cat "$work/nginx.pid")" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap stop EXIT

need() { command -v "$1" >/dev/null; }
missing=()
need wget2 || missing+=(wget2)
need npm || missing+=(nodejs npm)
need git || missing+=(git)
if ! need apt-get; then
	echo "conformance needs Debian's packages (apt-get), which are not here" >&2
	exit 1
fi
apt-get update -qq
if [ "${#missing[@]}" -gt 0 ]; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# nginx and the documentation are only unpacked, so that no service is started and nothing stays.
mkdir "$work/debs" "$work/root"
(cd "$work/debs" && apt-get download -qq nginx python3.11-doc postgresql-doc-15 git-doc 2>"$work/apt.log") || {
	cat "$work/apt.log" >&2
	exit 1
}
for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done
if ldd "$work/root/usr/sbin/nginx" | grep -q 'not found'; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libpcre2-8-0 libssl3 zlib1g libcrypt1 >/dev/null
fi

doc=$work/root/usr/share/doc
python=$doc/python3.11/html
postgresql=$doc/postgresql-doc-15/html
git=$doc/git-doc
for d in "$python" "$postgresql" "$git"; do
	[ -d "$d" ] || { echo "the package's documentation is not at $d" >&2; exit 1; }
done
# Nothing is linked that the packages do not hold themselves: links out of the unpacked tree are dropped.
find "$doc" -xtype l -delete

cat >"$work/nginx.conf" <<CONF
daemon on;
pid $work/nginx.pid;
error_log $work/nginx.log;
worker_processes 1;
events { worker_connections 256; }
http {
  log_format reached escape=json '{"agent":"\$http_user_agent","status":\$status,"mime":"\$sent_http_content_type","target":"\$request_uri"}';
  client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
  uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
  types { text/html html htm; text/css css; text/javascript js; text/plain txt; image/png png; image/svg+xml svg; }
  default_type application/octet-stream;
  charset utf-8;
  gzip on; gzip_types text/css text/plain;
  server { listen 127.0.31.1:8311; access_log $work/python.log reached; root $python; index index.html; }
  server { listen 127.0.31.2:8312; access_log $work/postgresql.log reached; root $postgresql; index index.html; }
  server { listen 127.0.31.3:8313; access_log $work/git.log reached; root $git; index index.html; }
}
CONF
"$work/root/usr/sbin/nginx" -e "$work/nginx.log" -c "$work/nginx.conf"

AMBLE_CONFORMANCE="$work" go test -count=1 -v -timeout 240s -run '^TestConformance$' ./cmd/amble

echo "warcio and gzip on the archives:"
npm install --silent --no-audit --no-fund --prefix "$work/npm" warcio >/dev/null
gzip -t "$work"/job-*/warc/*.warc.gz
node .ci/warcio-check.mjs "$work/npm/node_modules/warcio" "$work"/job-*/warc/*.warc.gz
