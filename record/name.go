package record

import (
	"maps"
	"slices"
	"strings"
)

// Key is one key=value part of a name, with what stands for its value.
type Key struct{ Name, Value string }

// Keys are the key=value parts of a row's or a case's name, in order. Names are those of
// Go benchmarks: the stage, capitalised, then such parts with slashes between them, as in
// "Encode/msg=order/op=decode/codec=json". The stage, which has no key, is not among them.
type Keys []Key

// KeysOf returns the keys of a name.
func KeysOf(name string) Keys {
	var keys Keys
	for part := range strings.SplitSeq(name, "/") {
		if key, value, found := strings.Cut(part, "="); found {
			keys = append(keys, Key{key, value})
		}
	}
	return keys
}

// Get returns the value of a key, "" if there is none.
func (k Keys) Get(name string) string {
	for _, key := range k {
		if key.Name == name {
			return key.Value
		}
	}
	return ""
}

// Without leaves keys out.
func (k Keys) Without(names ...string) Keys {
	return slices.DeleteFunc(slices.Clone(k), func(key Key) bool { return slices.Contains(names, key.Name) })
}

// Join puts the parts together again.
func (k Keys) Join(separator string) string {
	var parts []string
	for _, key := range k {
		parts = append(parts, key.Name+"="+key.Value)
	}
	return strings.Join(parts, separator)
}

// Settings are the keys, and more's where the name does not have them.
func (k Keys) Settings(more map[string]string) map[string]string {
	settings := make(map[string]string, len(k)+len(more))
	maps.Copy(settings, more)
	for _, key := range k {
		settings[key.Name] = key.Value
	}
	return settings
}

// Short is a contender without the key of its first part: "json" of "codec=json".
func Short(contender string) string {
	if _, name, found := strings.Cut(contender, "="); found {
		return name
	}
	return contender
}
