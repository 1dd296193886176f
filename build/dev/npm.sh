# npm_ci FOLDER: installs exactly the lock file of FOLDER, once per content of
# the lock file. Sourced.
npm_ci() {
	_sum=$( (cat "$1/package-lock.json"; node --version) | cksum | tr -d ' ')
	[ "$(cat "$1/node_modules/.lock-sum" 2>/dev/null)" = "$_sum" ] && return 0
	printf 'setup: installing npm packages: npm ci in %s\n' "$1"
	(cd "$1" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund </dev/null)
	echo "$_sum" >"$1/node_modules/.lock-sum"
}
