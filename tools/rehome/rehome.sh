#!/usr/bin/env bash
# Gives the modules of this repository the address of their host. At the top of the checkout:
#
#	tools/rehome/rehome.sh example.org/you/postage [v0.1.0]
#
# The modules are called postage, postage/pgbulk and so on, which no go get finds. This changes the
# module, require and replace lines of every go.mod, the imports of every Go file, and the addresses
# that documents and scripts name. The version is the one at which the modules require each other.
# Run it once; then commit, and tag each module (v0.1.0, pgbulk/v0.1.0, webpush/v0.1.0).
set -euo pipefail
placeholder=example.org/you/postage # that documents give as an example
address=${1-} version=${2-v0.1.0}
fail() { echo "rehome: $1" >&2; exit 1; }
[[ $address =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)*$ ]] || fail "\"$address\" is not a module path: it is a host and a path, such as $placeholder"
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || fail "\"$version\" is not a version such as v0.1.0"
from=$(sed -n 's/^module //p' go.mod) || fail "there is no go.mod: run it at the top of the checkout"

# The checkout's files whose names match, without those that git ignores.
files() { git ls-files -z --cached --others --exclude-standard -- "$@" | xargs -0 -r stat --printf '%F %n\0' | sed -z -n 's/^regular file //p'; }

files go.mod '*/go.mod' | xargs -0 sed -E -i "s#^(\s*(require )?)$from((/\S*)? )v[0-9]\S*#\1$address\3$version#; s#^((module|replace|require)? *\s*)$from(/\S*)?( |\$)#\1$address\3\4#"
files '*.go' | xargs -0 sed -E -i "s#^(\s*(import )?([A-Za-z_.]\w* )?)\"$from((/[^\"]*)?)\"(\s*(//.*)?)\$#\1\"$address\4\"\6#"
files '*.go' | xargs -0 gofmt -w # a longer path can sort elsewhere
folders=$(ls -d [a-z]*/ | tr -d / | paste -sd'|')
files '*.md' '*.txtar' '*.yml' .ci/run | xargs -0 sed -E -i "s#(^|[[:space:]\"'(=\`])$from/($folders)\b#\1$address/\2#g; s#$placeholder#$address#g"
echo "$from is $address now"
