#!/usr/bin/env bash
# Gives the modules of this repository the address of their host. At the top of the checkout:
#
#	tools/rehome.sh example.org/you/postage [v0.1.0]
#
# The modules are called postage, postage/pgbulk and so on, which no go get finds. This changes the
# module and require lines of every go.mod, the imports of every Go file, and the addresses that
# code, documents and scripts name. The modules require each other at the version, and no go.mod has
# a replace for that: go.work has it. What comes next is in CONTRIBUTING.md. For a later version it
# is run again.
set -euo pipefail
placeholder=example.org/you/postage # that documents give as an example
address=${1-} version=${2-v0.1.0}
fail() { echo "rehome: $1" >&2; exit 1; }
[[ $address =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)*$ ]] || fail "\"$address\" is not a module path: it is a host and a path, such as $placeholder"
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || fail "\"$version\" is not a version such as v0.1.0"
from=$(sed -n 's/^module //p' go.mod) || fail "there is no go.mod: run it at the top of the checkout"

# The checkout's files whose names match, without those that git ignores.
files() { git ls-files -z --cached --others --exclude-standard -- "$@" | xargs -0 -r stat --printf '%F %n\0' | sed -z -n 's/^regular file //p'; }

files go.mod '*/go.mod' | xargs -0 sed -E -i "\\#^replace $from(/\S*)? => #d; s#^(\s*(require )?)$from((/\S*)? )v[0-9]\S*#\1$address\3$version#; s#^module $from(/|\$)#module $address\1#"
files go.mod '*/go.mod' | xargs -0 -n 1 go mod edit -fmt
sed -E -i "\\#^(replace )?\s*$from/\S* v\S* => #d" go.work
for module in $(sed -n 's/^\t\.\///p' go.work); do
	go work edit -replace="$address/$module@$version=./$module"
done
files '*.go' | xargs -0 sed -E -i "s#^(\s*(import )?([A-Za-z_.]\w* )?)\"$from((/[^\"]*)?)\"(\s*(//.*)?)\$#\1\"$address\4\"\6#"
# Descriptors in generated code keep their lengths, and so their names.
folders=$(ls -d [a-z]*/ | tr -d / | paste -sd'|')
files '*.go' ':!*.pb.go' '*.md' '*.txt' '*.txtar' '*.yml' .ci/run | xargs -0 sed -E -i "s#(^|[[:space:]\"'(=\`])$from/($folders)\b#\1$address/\2#g"
files '*.md' '*.txt' '*.txtar' '*.yml' .ci/run | xargs -0 sed -i "s#$placeholder#$address#g"
files '*.go' | xargs -0 gofmt -w # a longer path can sort elsewhere
echo "$from is $address now"
