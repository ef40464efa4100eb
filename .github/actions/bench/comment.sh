#!/usr/bin/env bash
# Puts a comment of `postage bench` on a pull request, in place of the one with the same first line.
# usage: comment.sh FILE PULL-REQUEST, with GH_TOKEN and GITHUB_REPOSITORY
set -euo pipefail
file=$1 pr=$2
[ -s "$file" ] || exit 0
[[ $pr =~ ^[0-9]+$ ]] || { echo "comment.sh: '$pr' is no pull request's number" >&2; exit 2; }
marker=$(head -n 1 "$file")
[[ $marker =~ ^"<!-- postage "[A-Za-z0-9_-]+" -->"$ ]] || { echo "comment.sh: $file does not begin with the marker of a step" >&2; exit 2; }
# GitHub takes 65,536 characters.
if [ "$(wc -m < "$file")" -gt 65000 ]; then
  head -c 64000 "$file" | sed '$d' > "$file.cut"
  printf '\nThe rest is in the summary of the job.\n' >> "$file.cut"
  file=$file.cut
fi
old=$(gh api "repos/$GITHUB_REPOSITORY/issues/$pr/comments" --paginate --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [ -n "$old" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$old" -F body=@"$file"
else
  gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$pr/comments" -F body=@"$file"
fi
