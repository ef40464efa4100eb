// Package interop tests package webpush against other implementations: npm's http_ece and PyPI's
// http_ece open what we seal, and our receiver opens what npm's web-push seals.
//
// The tests install both at the versions pinned in package-lock.json and
// requirements.txt, so they need npm, python3 and their registries. They run if
// POSTAGE_LONG is set:
//
//	POSTAGE_LONG=1 go test -v ./webpush/interop
//
// Where npm or python3 is missing they are skipped, except under CI=true, where
// that is a failure.
package interop
